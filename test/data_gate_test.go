package test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// When a client dies at a request.
const (
	beforeIt   = iota // the server gets nothing of it
	halfway           // the server gets nothing, though half of it was sent
	unanswered        // the server has done it, and its answer is lost
)

// gate stands before an S3 server. It kills who makes a certain request, and writes down what the server has taken.
type gate struct {
	URL    string
	server *url.URL
	client http.Transport
	under  sync.WaitGroup // requests

	mu     sync.Mutex // guards what follows
	victim *os.Process
	killAt int
	moment int
	n      int // requests of this client
	all    int
	killed int
	taken  map[string]bool
	twice  []string
}

func newGate(t *testing.T, endpoint string) *gate {
	t.Helper()
	server, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{server: server, taken: map[string]bool{}}
	door := httptest.NewServer(g)
	g.URL = door.URL
	t.Cleanup(func() {
		door.Close()
		g.client.CloseIdleConnections()
	})
	return g
}

// begin says who comes next, and when it is killed. The caller holds mu.
func (g *gate) begin(victim *os.Process, killAt, moment int) {
	g.victim, g.killAt, g.moment, g.n = victim, killAt, moment, 0
}

// end waits until the server has done what it was asked, and says how many requests there were.
func (g *gate) end() int {
	g.under.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

// ServeHTTP passes a request on when all of it is there.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.under.Add(1)
	defer g.under.Done()
	dies := g.count()
	if dies == beforeIt {
		g.kill()
	}
	if dies == halfway {
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		g.kill()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || int64(len(body)) != max(r.ContentLength, 0) {
		panic(http.ErrAbortHandler)
	}
	answer, text, err := g.ask(r, body)
	if dies == unanswered {
		g.kill()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text) // the client may be gone
}

// count counts a request, and says when its client dies; -1 is not now.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	g.all++
	if g.n == g.killAt {
		return g.moment
	}
	return -1
}

func (g *gate) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.killed++
	_ = g.victim.Kill()
	panic(http.ErrAbortHandler)
}

// ask asks the server, whatever becomes of the client.
func (g *gate) ask(r *http.Request, body []byte) (*http.Response, []byte, error) {
	to := &url.URL{Scheme: g.server.Scheme, Host: g.server.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	out := (&http.Request{Method: r.Method, URL: to, Host: r.Host, Header: r.Header.Clone(), ContentLength: int64(len(body))}).WithContext(context.WithoutCancel(r.Context()))
	out.Header.Del("Expect")
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := g.client.RoundTrip(out)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == http.StatusOK && r.Method == http.MethodPut {
		g.take(r)
	}
	return answer, text, err
}

// take writes down what the server has now: a file, or a part of one. Heads and manifests are no files.
func (g *gate) take(r *http.Request) {
	sum := r.Header.Get("x-amz-checksum-crc64nvme")
	if sum == "" || strings.Contains(r.URL.Path, "/.muster/") {
		return
	}
	name := fmt.Sprintf("%s part %s of %s", sum, r.URL.Query().Get("partNumber"), r.URL.Path)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken[name] {
		g.twice = append(g.twice, name)
	}
	g.taken[name] = true
}
