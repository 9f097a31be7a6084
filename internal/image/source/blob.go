package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Retries of a download: it is given up after so many failures in a row that
// brought less than enough bytes.
const (
	maxTries = 6
	enough   = 1 << 20
)

// permanent is an error that trying again does not mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// download reads a blob of a known size. When it breaks it goes on from where it
// stopped.
type download struct {
	ctx  context.Context
	end  context.CancelCauseFunc
	from func(ctx context.Context, offset int64) (io.ReadCloser, error)
	o    Options

	size, at int64
	body     io.ReadCloser
	// tries counts failures since at was since.
	tries int
	since int64
}

func newDownload(ctx context.Context, size int64, o Options, from func(context.Context, int64) (io.ReadCloser, error)) *download {
	ctx, end := context.WithCancelCause(ctx)
	return &download{ctx: ctx, end: end, from: from, o: o, size: size}
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for {
		if d.at == d.size {
			return 0, io.EOF
		}
		n, err := d.readOnce(p)
		if n > 0 {
			d.at += int64(n)
			return n, nil
		}
		if err = d.retry(err); err != nil {
			return 0, err
		}
	}
}

// readOnce reads from the body there is, or a new one. It gives no more bytes
// than there should be.
func (d *download) readOnce(p []byte) (int, error) {
	if d.body == nil {
		body, err := d.from(d.ctx, d.at)
		if err != nil {
			return 0, err
		}
		d.body = stallReader(body, d.o.stall())
	}
	if left := d.size - d.at; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := d.body.Read(p)
	if n == 0 && (err == io.EOF || err == nil) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// retry waits before the next try, or returns why there is none.
func (d *download) retry(err error) error {
	d.drop()
	var final permanent
	switch {
	case d.ctx.Err() != nil:
		return context.Cause(d.ctx)
	case errors.As(err, &final):
		return final.error
	}
	if d.at-d.since >= enough {
		d.tries, d.since = 0, d.at
	}
	if d.tries += cost(err); d.tries >= maxTries {
		return fmt.Errorf("given up at byte %d of %d after %d tries: %w", d.at, d.size, d.tries, err)
	}
	wait, hopeless := d.o.pause(d.tries, err)
	if hopeless != nil {
		return hopeless
	}
	d.o.notice("a download broke off at byte %d of %d and is tried again: %v", d.at, d.size, err)
	return pause.For(d.ctx, wait)
}

func (d *download) drop() {
	if d.body != nil {
		d.body.Close()
		d.body = nil
	}
}

// Close implements io.Closer.
func (d *download) Close() error {
	d.drop()
	d.end(errors.New("closed"))
	return nil
}

// stalling closes a body that gives no byte for too long.
type stalling struct {
	io.ReadCloser
	limit time.Duration
	timer *time.Timer
	fired chan struct{}
}

func stallReader(body io.ReadCloser, limit time.Duration) io.ReadCloser {
	s := &stalling{ReadCloser: body, limit: limit, fired: make(chan struct{})}
	s.timer = time.AfterFunc(limit, func() {
		close(s.fired)
		body.Close()
	})
	s.timer.Stop()
	return s
}

// Read implements io.Reader.
func (s *stalling) Read(p []byte) (int, error) {
	select {
	case <-s.fired:
		return 0, silence(s.limit)
	default:
	}
	s.timer.Reset(s.limit)
	n, err := s.ReadCloser.Read(p)
	if !s.timer.Stop() && n == 0 {
		<-s.fired
		err = silence(s.limit)
	}
	return n, err
}
