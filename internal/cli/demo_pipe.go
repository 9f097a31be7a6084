//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// stopAtBrokenPipe ends the context when the reader of stdout or stderr has ended, as `head`
// does. Without it, SIGPIPE would end the program at once, and nothing would be cleaned up.
// The terminal needs none: it sends SIGHUP.
func (a *app) stopAtBrokenPipe(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	// It also comes for sockets of ours, so the writers tell. It stays caught to the end: the
	// last error has to be written, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, stream := range []*io.Writer{&a.out, &a.err} {
		if !terminal(*stream) {
			*stream = pipeWriter{*stream, cancel}
		}
	}
	return ctx, func() { cancel(nil) }
}

// pipeWriter calls stop when what it writes has no reader.
type pipeWriter struct {
	io.Writer
	stop context.CancelCauseFunc
}

func (w pipeWriter) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		w.stop(fmt.Errorf("stopped, because the reader of its output has ended: %w", err))
	}
	return n, err
}
