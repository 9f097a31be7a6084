// Package step is how what takes long is told: as named steps that may each be
// repeated, one after the other.
package step

import (
	"fmt"
	"time"
)

// Step is one thing that was done.
type Step struct {
	Name string `json:"name"`
	// Detail says what was found or proved.
	Detail  string  `json:"detail,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Reporter is told what goes on. Its methods are called from one goroutine.
type Reporter interface {
	// Begin is called before a step, Waiting now and then while it takes time.
	Begin(name string)
	Waiting(name, what string, since time.Duration)
	// Note is called for something of a step that is worth a line of its own.
	Note(line string)
	Done(Step)
}

// Series runs steps one after the other and reports each.
type Series struct {
	Report Reporter
	Done   []Step
}

// Do runs one step. f returns what was found or proved.
func (s *Series) Do(name string, f func() (detail string, err error)) error {
	s.Report.Begin(name)
	began := time.Now()
	detail, err := f()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	done := Step{Name: name, Detail: detail, Seconds: time.Since(began).Seconds()}
	s.Done = append(s.Done, done)
	s.Report.Done(done)
	return nil
}
