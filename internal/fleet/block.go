package fleet

import (
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Block is a capacity block: machines of one compute resource that were paid for
// in advance, and for a time only.
type Block struct {
	ID       string
	Resource slurm.Resource
	// Active blocks can be launched into.
	Active     bool
	Start, End time.Time
}
