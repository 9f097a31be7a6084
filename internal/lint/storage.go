package lint

import "github.com/muster-hpc/muster/internal/spec"

// storage has the rules about file systems and volumes.
func storage(root spec.View) {}
