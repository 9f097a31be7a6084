package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// desired are the decisions of a user, or of the controller on his behalf, about the
// fleet. They are recorded nowhere else, so they are kept in a file.
type desired struct {
	path string

	mu  sync.Mutex // guards now
	now DesiredState
}

// DesiredState is the file's content.
type DesiredState struct {
	// Revision is the cluster's to which Protected applies.
	Revision string `json:"revision,omitempty"`
	// Stopped is nil while the fleet runs.
	Stopped *Stopped `json:"stopped,omitempty"`
	// Protected are queues that start no nodes because these fail to boot.
	Protected map[string]Protected `json:"protected,omitempty"`
	// Closed are the partitions that are inactive because of this, with the state
	// that they had.
	Closed map[string]string `json:"closed,omitempty"`
}

// Stopped says since when the fleet is stopped, and whether jobs were ended for it.
type Stopped struct {
	Since time.Time `json:"since"`
	Now   bool      `json:"now,omitempty"`
}

// Protected says since when a queue is protected, and why.
type Protected struct {
	Since time.Time `json:"since"`
	Why   string    `json:"why"`
}

// open reads the file. renewed says that the cluster has changed since it was
// written, which ends the protection of its queues.
func (s *desired) open(revision string) (renewed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" {
		return false, nil
	}
	data, err := whole.Read(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read what was decided about the fleet: %w", err)
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &s.now); err != nil {
			return false, fmt.Errorf("read what was decided about the fleet, %s: %w", s.path, err)
		}
	}
	if revision == s.now.Revision {
		return false, nil
	}
	renewed = s.now.Revision != ""
	next := s.now
	next.Revision, next.Protected = revision, nil
	return renewed, s.write(next)
}

// get is what was decided. Its maps are not to be changed.
func (s *desired) get() DesiredState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// change decides something else. It counts when it is on disk.
func (s *desired) change(f func(*DesiredState)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.now
	next.Protected, next.Closed = maps.Clone(next.Protected), maps.Clone(next.Closed)
	f(&next)
	return s.write(next)
}

func (s *desired) write(next DesiredState) error {
	if s.path != "" {
		if err := whole.JSON(s.path, next); err != nil {
			return fmt.Errorf("keep what was decided about the fleet: %w", err)
		}
	}
	s.now = next
	return nil
}
