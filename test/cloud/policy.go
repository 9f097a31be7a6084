package cloud

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// policies keeps buckets' policies in front of moto, which takes a Deny with a
// condition that does not hold for a Deny. They are kept and not enforced.
type policies struct {
	mu   sync.Mutex // guards text
	text map[string][]byte
}

// Answer answers the calls on buckets' policies.
func (p *policies) Answer(_ context.Context, c *wire.Call) (*wire.Answer, bool) {
	if _, ok := c.Request.URL.Query()["policy"]; !ok {
		return nil, false
	}
	bucket, _, _ := strings.Cut(strings.TrimPrefix(c.Request.URL.Path, "/"), "/")
	p.mu.Lock()
	defer p.mu.Unlock()
	switch c.Request.Method {
	case http.MethodPut:
		body, err := io.ReadAll(io.LimitReader(c.Request.Body, 1<<20)) // S3's bodies are left to whoever answers
		if err != nil || !json.Valid(body) {
			return c.Fault(wire.Errorf("MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")), true
		}
		if p.text == nil {
			p.text = map[string][]byte{}
		}
		p.text[bucket] = body
		return &wire.Answer{Status: http.StatusNoContent}, true
	case http.MethodDelete:
		delete(p.text, bucket)
		return &wire.Answer{Status: http.StatusNoContent}, true
	}
	text, ok := p.text[bucket]
	if !ok {
		return c.Fault(&wire.Error{Status: http.StatusNotFound, Code: "NoSuchBucketPolicy", Message: "The bucket policy does not exist"}), true
	}
	return &wire.Answer{Type: "application/json", Body: text}, true
}
