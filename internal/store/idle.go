package store

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// idleClient ends a request on which nothing moves: no byte of its body taken, none of its answer given, for the limit.
// A server that is merely slow may take as long as it likes.
type idleClient struct {
	next  *http.Client
	limit time.Duration
	pace  pace
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
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = sending{ctx, req.Body, watch, c.pace}
	}
	resp, err := c.next.Do(req)
	watch.timer.Stop()
	if err != nil {
		defer cancel(nil)
		return nil, watch.why(err)
	}
	resp.Body = &receiving{ctx, resp.Body, watch, cancel, c.pace}
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

// sending is a request's body: each read shows that the last one was sent.
type sending struct {
	ctx context.Context // of the request
	io.ReadCloser
	watch *watch
	pace  pace
}

func (s sending) Read(p []byte) (int, error) {
	s.watch.timer.Stop() // neither the disk nor our own pace is the server's silence
	defer s.watch.timer.Reset(s.watch.limit)
	return s.pace.read(s.ctx, s.ReadCloser, p)
}

// receiving is an answer's body. Only the wait for the server counts, not the time that its reader takes.
type receiving struct {
	ctx context.Context // of the request
	io.ReadCloser
	watch  *watch
	cancel context.CancelCauseFunc
	pace   pace
}

func (r *receiving) Read(p []byte) (int, error) {
	n, err := r.pace.read(r.ctx, heard{r.ReadCloser, r.watch}, p)
	return n, r.watch.why(err)
}

func (r *receiving) Close() error {
	err := r.ReadCloser.Close()
	r.watch.timer.Stop()
	r.cancel(nil)
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
