package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// idleClient ends a request on which nothing moves: no byte of its body taken, none of its answer given, for the limit.
// A server that is merely slow may take as long as it likes.
type idleClient struct {
	next  *http.Client
	limit time.Duration
	pace  pace
	known *atomic.Bool // whether there was an answer ever; may be nil
}

// silence is the error of a request that stood still. The SDK takes it for a timeout and tries again.
type silence struct{ limit time.Duration }

func (s silence) Error() string { return fmt.Sprintf("nothing moved for %s", s.limit) }
func (s silence) Timeout() bool { return true }

func (c idleClient) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	watch := &watch{limit: c.limit, cause: func() error { return context.Cause(ctx) }}
	watch.timer = time.AfterFunc(c.limit, func() { cancel(silence{c.limit}) })
	req = req.WithContext(ctx)
	var body *sending
	if req.Body != nil && req.Body != http.NoBody {
		body = &sending{ctx: ctx, ReadCloser: req.Body, watch: watch, pace: c.pace}
		req.Body = body
	}
	resp, err := c.next.Do(req)
	watch.timer.Stop()
	if err != nil {
		defer cancel(nil)
		body.end()
		return nil, watch.why(err)
	}
	if c.known != nil {
		c.known.Store(true)
	}
	resp.Body = &receiving{ctx, resp.Body, watch, cancel, c.pace, body}
	return resp, nil
}

// watch measures how long a request stands still.
type watch struct {
	timer *time.Timer
	limit time.Duration
	cause func() error // what ended the request
}

// why turns the transport's "context canceled" into what really happened.
func (w *watch) why(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if s, ok := w.cause().(silence); ok {
		return s
	}
	return err
}

// sending is a request's body: each read shows that the last one was sent. The transport may go on reading when the answer
// is there or the request has failed, but not when the request is over: then its memory has others, or is none any more.
type sending struct {
	ctx context.Context // of the request
	io.ReadCloser
	watch *watch
	pace  pace

	mu   sync.Mutex // guards over, and is held while the body is read from memory
	over bool
}

var errOver = errors.New("the request is over")

func (s *sending) Read(p []byte) (int, error) {
	s.watch.timer.Stop() // neither the disk nor our own pace is the server's silence
	defer s.resume()
	return s.pace.read(s.ctx, unlessOver{s}, p)
}

// resume measures the server's silence again.
func (s *sending) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.watch.timer.Reset(s.watch.limit)
	}
}

// unlessOver reads a body until the request is over.
type unlessOver struct{ *sending }

func (s unlessOver) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, errOver
	}
	return s.ReadCloser.Read(p)
}

// end returns when nobody reads the body any more.
func (s *sending) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// receiving is an answer's body. Only the wait for the server counts, not the time that its reader takes.
type receiving struct {
	ctx context.Context // of the request
	io.ReadCloser
	watch  *watch
	cancel context.CancelCauseFunc
	pace   pace
	body   *sending // of the request, nil if it had none
}

func (r *receiving) Read(p []byte) (int, error) {
	n, err := r.pace.read(r.ctx, heard{r.ReadCloser, r.watch}, p)
	return n, r.watch.why(err)
}

func (r *receiving) Close() error {
	err := r.ReadCloser.Close()
	r.watch.timer.Stop()
	r.cancel(nil)
	r.body.end()
	return err
}

// heard waits for the server no longer than the watch allows.
type heard struct {
	io.Reader
	watch *watch
}

func (h heard) Read(p []byte) (int, error) {
	h.watch.timer.Reset(h.watch.limit)
	defer h.watch.timer.Stop()
	return h.Reader.Read(p)
}
