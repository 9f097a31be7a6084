// Package checkpoint says which directories are checkpoints of a training, of which step and layout, whether they are
// whole and which of them may go: from the paths, sizes and times of files, and from small parts of them, for which it asks.
//
// Its law: a checkpoint is never called whole if its writer, going on, would have written more of it; and one that is the
// newest whole one of its run, or that a pointer names, never has to go.
package checkpoint

// Policy says which checkpoints of a run stay. The zero value keeps all.
type Policy struct {
	Last  int   // so many of the newest whole ones; 0 is all
	Every int64 // and besides, all whose step is a multiple of this; 0 is none
}

// All says that none ever goes.
func (p Policy) All() bool { return p.Last <= 0 }

// Known is a checkpoint of which is known enough to keep it or not.
type Known struct {
	Dir   string // its path; those of one parent directory are one run
	Step  int64  // NoStep if its name does not say
	Whole bool
	Named bool // a pointer names it, or may
}

// NoStep is the step of a checkpoint whose name has none: it is neither old nor new, and always stays.
const NoStep = -1

// MetaParts is the key of an object's metadata that says how many files the checkpoint has that it is in, as whoever put
// it knew.
const MetaParts = "muster-checkpoint-files"
