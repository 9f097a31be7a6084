package fleet

import "time"

// Block is a capacity block: machines of one compute resource that were paid for
// in advance, and for a time only.
type Block struct {
	ID       string
	Resource Resource
	// Active blocks can be launched into.
	Active     bool
	Start, End time.Time
}
