package local

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/say/step"
)

// notes keeps what is noted.
type notes []string

func (n *notes) Note(line string)                    { *n = append(*n, line) }
func (*notes) Begin(string)                          {}
func (*notes) Waiting(string, string, time.Duration) {}
func (*notes) Done(step.Step)                        {}

// TestNoteEach holds that two errors are two lines.
func TestNoteEach(t *testing.T) {
	var said notes
	noteEach(&said, errors.New("keep the next job's ID: no space left"), nil, errors.New("keep the name: no space left"))
	if !slices.Equal(said, notes{"keep the next job's ID: no space left", "keep the name: no space left"}) {
		t.Errorf("got %q", said)
	}
}
