package controller

import (
	"encoding/json"
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
	// Hint is what somebody can do about it.
	Hint string `json:"hint,omitempty"`
	// Instance is the provider's name of the machine, where no node stands for it.
	Instance string `json:"instance,omitempty"`
	// Log has the last lines of what the machine wrote.
	Log []string `json:"log,omitempty"`
}

// Events keeps what happened in a file of one JSON object a line.
type Events struct {
	mu   sync.Mutex // guards file
	file *os.File
}

// OpenEvents adds to the file at path.
func OpenEvents(path string) (*Events, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &Events{file: f}, nil
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
	_, _ = e.file.Write(append(line, '\n'))
}

// Close ends the writing.
func (e *Events) Close() error { return e.file.Close() }
