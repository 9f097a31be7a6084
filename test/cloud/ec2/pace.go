package ec2

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Latency is how long calls take, of real time.
type Latency struct {
	// Call is for every call that Calls does not name, PerInstance in addition for
	// each instance that a call launches.
	Call, PerInstance time.Duration
	Calls             map[string]time.Duration
}

// countHeader carries how many instances an answer is about.
const countHeader = "X-Double-Instances"

func launchedBy(a *wire.Answer) int {
	n, _ := strconv.Atoi(a.Header[countHeader]) // absent is none
	return n
}

func (l Latency) wait(ctx context.Context, action string, instances int) {
	d, ok := l.Calls[action]
	if !ok {
		d = l.Call
	}
	if d += time.Duration(instances) * l.PerInstance; d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// bucket is how many tokens a bucket holds, and how many it gets each second:
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
type bucket struct{ size, refill float64 }

// pace are EC2's token buckets: for every call one of requests, and for some one of
// instances.
type pace struct {
	clock *wire.Clock

	mu     sync.Mutex // guards levels
	levels map[string]level
}

type level struct {
	tokens float64
	at     time.Time
}

// request takes a token for a call. It is false if there is none.
func (p *pace) request(action string, params params) bool {
	b := bucket{50, 5} // mutating
	switch {
	case action == "RunInstances":
		b = bucket{5, 2}
	case action == "TerminateInstances":
		b = bucket{100, 5}
	case action == "CreateTags":
		b = bucket{100, 10}
	case strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "Get"):
		b = bucket{100, 20}
		if !params.has("Filter") && !params.has("MaxResults") && action == "DescribeInstances" {
			b = bucket{50, 10} // unfiltered and unpaginated
			action += " unfiltered"
		}
	}
	return p.take(action, b, 1)
}

// resource takes tokens for instances.
func (p *pace) resource(action string, n int) bool {
	b := bucket{1000, 2}
	if action == "TerminateInstances" {
		b = bucket{1000, 20}
	}
	return p.take(action+" instances", b, float64(n))
}

func (p *pace) take(name string, b bucket, n float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	l, ok := p.levels[name]
	if !ok {
		l = level{tokens: b.size, at: now}
	}
	l.tokens = min(b.size, l.tokens+now.Sub(l.at).Seconds()*b.refill)
	l.at = now
	enough := l.tokens >= n
	if enough {
		l.tokens -= n
	}
	if p.levels == nil {
		p.levels = map[string]level{}
	}
	p.levels[name] = l
	return enough
}

func throttled() *wire.Error {
	return &wire.Error{Status: http.StatusServiceUnavailable, Code: "RequestLimitExceeded", Message: "Request limit exceeded."}
}
