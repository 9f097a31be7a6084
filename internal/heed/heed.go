// Package heed lets a command end when it is told to, whatever it waits for. Opening a
// pipe that nobody writes to, and reading a disk that no longer answers, wait for ever
// and know no context.
package heed

import "context"

// Call does what cannot be told to stop, and returns at once when the context ends. Then
// do goes on by itself, until the process ends: it must only read, and what it
// was to find must not be looked at.
func Call(ctx context.Context, do func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
