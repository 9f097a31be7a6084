package lint

import "github.com/muster-hpc/muster/internal/spec"

// compute has the rules about queues, compute resources and Slurm.
func compute(root spec.View) {}
