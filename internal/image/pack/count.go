package pack

import (
	"io"
	"net/http"
	"sync/atomic"
)

// counting tells how many bytes of request bodies have been sent.
type counting struct {
	transport http.RoundTripper
	sent      func(int64)
	sum       atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.Clone(r.Context())
		r.Body = &countedBody{r.Body, c}
	}
	return c.transport.RoundTrip(r)
}

type countedBody struct {
	io.ReadCloser
	c *counting
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.c.sent(b.c.sum.Add(int64(n)))
	return n, err
}
