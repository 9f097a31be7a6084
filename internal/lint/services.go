package lint

import "github.com/muster-hpc/muster/internal/spec"

// services has the rules about the head node, login nodes, image, permissions, monitoring, directory service and database.
func services(root spec.View) {}
