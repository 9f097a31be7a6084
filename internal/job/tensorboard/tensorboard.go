// Package tensorboard writes what TensorBoard shows: event files with scalars, to which records are only ever added.
//
// Its law: whatever part of a file is there when its writer dies, what Read says of it is all that TensorBoard reads of it,
// and a file that is cut there goes on as if nothing had been.
package tensorboard

import (
	"fmt"
	"strings"
	"time"
)

// File is what is known of an event file: an empty one, or what Read found. It makes the records that come next; whoever
// calls writes them behind Size, and after a write that was cut short begins anew with Read.
//
// It may be kept as JSON beside how far the log was read: a writer that was killed then cuts the file at Size, reads the log
// from there again, and writes the same once more.
type File struct {
	// Size is the file's length in bytes, up to the end of its last whole record. What follows has to be cut off.
	Size int64 `json:"size"`
	// Events is how many there are with scalars, and Step the last one's.
	Events int64 `json:"events"`
	Step   int64 `json:"step"`
	// Started says that the file has a session's start, Restarts that the next event begins another one.
	Started  bool `json:"started"`
	Restarts bool `json:"restarts,omitzero"`
}

// Event is scalars at a step.
type Event struct {
	Time    time.Time
	Step    int64
	Scalars []Scalar
}

// Scalar is one value of a curve. TensorBoard keeps values of 32 bits.
type Scalar struct {
	Tag   string
	Value float64
}

// Restart says that the next event is of another run of the same training, which may go on from an older step: TensorBoard
// then drops what it has of that step and later ones.
func (f *File) Restart() { f.Restarts = true }

// Append adds an event's records to a buffer that will be written to the file's end.
func (f *File) Append(to []byte, e Event) []byte {
	before := len(to)
	if f.Size == 0 {
		to = appendRecord(to, appendVersion(nil, e.Time))
	}
	// The first start is none of another session for TensorBoard's web pages, and purges nothing: plugin_event_accumulator.py,
	// _CheckForRestartAndMaybePurge. So every file begins with one.
	if !f.Started || f.Restarts {
		to = appendRecord(to, appendStart(nil, e.Time, e.Step))
	}
	to = appendRecord(to, appendScalars(nil, e))
	*f = File{Size: f.Size + int64(len(to)-before), Events: f.Events + 1, Step: e.Step, Started: true}
	return to
}

// Name is that of an event file: TensorBoard reads what has "tfevents" in its name, in the order of names. So a file that
// begins later comes later.
func Name(begins time.Time, host string) string {
	host = strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' {
			return '-'
		}
		return r
	}, host)
	return fmt.Sprintf("events.out.tfevents.%010d.%s.muster", begins.Unix(), host)
}
