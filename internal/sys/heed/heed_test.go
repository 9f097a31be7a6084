package heed

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestCall(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	done, told := errors.New("done"), errors.New("told to stop")
	if err := Call(ctx, func() error { return done }); err != done {
		t.Errorf("got %v, want what do returns", err)
	}
	for _, when := range []string{"while do waits", "before"} {
		never := make(chan struct{})
		if err := Call(ctx, func() error { stop(told); <-never; return nil }); err != told {
			t.Errorf("the context ends %s: got %v, want its cause", when, err)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "text" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), path+"s"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestOpenPipe holds that neither the wait for somebody who writes to a pipe nor that for
// what he writes outlasts the context.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	told := errors.New("told to stop")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(told)
	if _, err := Open(stopped, path); err != told {
		t.Errorf("nobody writes: got %v", err)
	}
	// Open for both, so that neither side waits for the other.
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	f, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	part := make([]byte, 4)
	if _, err = w.WriteString("part"); err == nil {
		_, err = io.ReadFull(f, part)
	}
	if err != nil || string(part) != "part" {
		t.Fatalf("got %q, %v", part, err)
	}
	stop(told)
	if _, err := f.Read(part); err != told {
		t.Errorf("somebody writes no more: got %v", err)
	}
}
