package lint

import "github.com/muster-hpc/muster/internal/spec"

// practice has the rules about what ParallelCluster accepts and people regret.
func practice(root spec.View) {}
