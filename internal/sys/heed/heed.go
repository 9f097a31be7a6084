// Package heed lets a command end when it is told to, whatever it waits for. Opening a
// pipe that has no writer, and reading a disk that no longer answers, wait for ever and
// know no context.
package heed

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Call calls a function that cannot be told to stop, and returns at once when the context
// ends. Then do goes on in the background: it must only read, and the caller must not use
// its results.
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

// Open opens a file that a user named, which may be a pipe: the waits for its writer and
// for data end with the context.
func Open(ctx context.Context, path string) (io.ReadCloser, error) {
	var f *os.File
	err := Call(ctx, func() (err error) {
		f, err = os.Open(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return Reader(ctx, f), nil
}

// Reader reads what another reader has, until the context ends. Closing it closes the
// other, too, unless a read still waits there.
func Reader(ctx context.Context, from io.ReadCloser) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(errors.Join(err, from.Close()))
		stop()
	}()
	return r
}

// Signals are the signals that a program should handle out of some. SIGHUP stays ignored if
// it is, as with nohup. SIGINT is handled even if it is ignored, as a shell does in the
// background: kill -INT still means the program.
func Signals(of []os.Signal) []os.Signal {
	return slices.DeleteFunc(slices.Clone(of), func(s os.Signal) bool { return s == syscall.SIGHUP && signal.Ignored(s) })
}
