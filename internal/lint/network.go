package lint

import "github.com/muster-hpc/muster/internal/spec"

// network has the rules about networks, security groups and placement.
func network(root spec.View) {}
