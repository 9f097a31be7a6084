package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Event is something that happened to the fleet.
type Event struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	// Nodes are those that it happened to.
	Nodes  []string `json:"-"`
	List   string   `json:"nodes"`
	Reason string   `json:"reason,omitempty"`
	// Hint is what a user can do about it.
	Hint string `json:"hint,omitempty"`
	// Instance is the provider's name of the machine, where no node stands for it.
	Instance string `json:"instance,omitempty"`
	// From and To are Slurm's states of nodes that were changed by hand, User is who gave
	// the reason.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	User string `json:"user,omitempty"`
	// Job is the number of the job that it happened to.
	Job int `json:"job,omitempty"`
	// Log has the last lines of what the machine wrote.
	Log []string `json:"log,omitempty"`
	// Report is a file on the head node with all that a burn-in found, for muster verify page.
	Report string `json:"report,omitempty"`
}

// Events keeps what happened in a file of one JSON object a line. One that has become
// large goes on under the name of Earlier, in the place of the one there.
type Events struct {
	path  string
	limit int64

	mu   sync.Mutex // guards what follows
	file *os.File
	size int64
}

// eventsLimit is a month of a busy cluster.
const eventsLimit = 16 << 20

// Earlier is where the events are that were written before those of a file.
func Earlier(path string) string { return path + ".1" }

// OpenEvents adds to the file at path.
func OpenEvents(path string) (*Events, error) {
	e := &Events{path: path, limit: eventsLimit}
	return e, e.open(path)
}

func (e *Events) open(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	e.file, e.size = f, info.Size()
	return nil
}

// Add writes an event. A full disk loses the event and stops nothing.
func (e *Events) Add(v Event) {
	v.Time, v.List = time.Now(), slurm.Compress(v.Nodes)
	line, err := json.Marshal(v)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n, _ := e.file.Write(append(line, '\n'))
	if e.size += int64(n); e.size >= e.limit {
		_ = e.rotate() // else the file grows until the next one
	}
}

// rotate begins a new file. There is one at path at every moment, and programs that read
// the old one can go on with it.
func (e *Events) rotate() error {
	next := e.path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old := e.file
	if err := e.open(next); err != nil {
		return err
	}
	defer old.Close()
	if err := os.Remove(Earlier(e.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.Link(e.path, Earlier(e.path)), os.Rename(next, e.path))
}

// last is when each instance last had an event of a kind, as far as the files still have it.
func (e *Events) last(kind string) map[string]time.Time {
	at := map[string]time.Time{}
	for _, path := range []string{Earlier(e.path), e.path} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it may not be there, and what is told twice harms nobody
		}
		for line := range bytes.Lines(text) {
			var v Event
			if bytes.Contains(line, []byte(kind)) && json.Unmarshal(line, &v) == nil && v.Kind == kind && v.Instance != "" {
				at[v.Instance] = v.Time
			}
		}
	}
	return at
}

// Close ends the writing.
func (e *Events) Close() error { return e.file.Close() }
