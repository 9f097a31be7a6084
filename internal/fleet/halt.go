package fleet

import (
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Halt keeps a compute resource from starting instances.
type Halt struct {
	Reason string
	Ending Ending
}

// Ending is what becomes of the nodes of a halted resource that are up.
type Ending int

// Endings, from the mildest to the hardest.
const (
	// Stay leaves them as they are.
	Stay Ending = iota
	// WhenIdle ends those that have no job. Inactive partitions keep new jobs from them.
	WhenIdle
	// AfterJobs lets no new job start on them, and ends them when they are idle.
	AfterJobs
	// AtOnce ends them. Their jobs go back into the queue.
	AtOnce
)

// blockTime is how times are written for users.
const blockTime = "2006-01-02 15:04 MST"

// BlockHalts are the halts of capacity blocks: of those that are not active, and of
// those that AWS is about to end.
func BlockHalts(now time.Time, blocks []Block) map[slurm.Resource]Halt {
	halts := map[slurm.Resource]Halt{}
	for _, b := range blocks {
		if h, ok := b.halt(now); ok {
			halts[b.Resource] = h
		}
	}
	return halts
}

func (b Block) halt(now time.Time) (Halt, bool) {
	end := b.End.Add(-catalog.BlockTail)
	switch {
	case !b.End.IsZero() && !now.Before(b.End):
		return Halt{Reason: fmt.Sprintf("capacity block %s ended at %s", b.ID, b.End.UTC().Format(blockTime)), Ending: AfterJobs}, true
	case !b.End.IsZero() && !now.Before(end):
		return Halt{Reason: fmt.Sprintf("capacity block %s ends at %s", b.ID, b.End.UTC().Format(blockTime)), Ending: AfterJobs}, true
	case !b.Active && now.Before(b.Start):
		return Halt{Reason: fmt.Sprintf("capacity block %s begins at %s", b.ID, b.Start.UTC().Format(blockTime))}, true
	case !b.Active:
		return Halt{Reason: fmt.Sprintf("capacity block %s is not active", b.ID)}, true
	}
	return Halt{}, false
}

// Block is a capacity block: machines of one compute resource that were paid for
// in advance, and for a time only.
type Block struct {
	ID       string
	Resource slurm.Resource
	// Active blocks can be launched into.
	Active     bool
	Start, End time.Time
}
