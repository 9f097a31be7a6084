package test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// When a client dies at a request.
const (
	beforeIt   = iota // the server gets nothing of it
	halfway           // the server gets nothing, though half of it was sent
	unanswered        // the server has done it, and its answer is lost
)

// slow is an answer that a client may not have waited for: it makes a request again that has been silent for 30 s. What a quicker
// answer says, the client knows.
const slow = 5 * time.Second

// gate stands before an S3 server. It kills the client that makes a certain request, and records what the server has taken.
type gate struct {
	URL    string
	server *url.URL
	client http.Transport

	mu      sync.Mutex // guards what follows
	moved   *sync.Cond // a connection was opened or closed
	open    map[net.Conn]bool
	seen    string // the address of the client whose connection was accepted last
	victim  *os.Process
	death   death
	push    int // clients so far
	n       int // requests of this client
	met     int // of them, those that death counts
	all     int
	killed  int
	resumed int // uploads in parts
	taken   map[string]taking
	twice   []string
}

// taking says how the server took a file or a part.
type taking struct {
	push int  // the client that sent it
	slow bool // the client may not have got the answer
}

func newGate(t *testing.T, endpoint string) *gate {
	t.Helper()
	server, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{server: server, taken: map[string]taking{}, open: map[net.Conn]bool{}}
	g.moved = sync.NewCond(&g.mu)
	door := httptest.NewUnstartedServer(g)
	door.Config.ConnState = g.connection
	door.Start()
	g.URL = door.URL
	t.Cleanup(func() {
		door.Close()
		g.client.CloseIdleConnections()
	})
	return g
}

// death says at which request a client dies, 0 for none, and at which moment of it. ofParts counts only requests of a file that goes
// in parts, once its upload has begun.
type death struct {
	at, moment int
	ofParts    bool
}

// begin says who comes next, and when it is killed. The caller holds mu.
func (g *gate) begin(victim *os.Process, d death) {
	g.victim, g.death, g.n, g.met = victim, d, 0, 0
	g.push++
}

// end waits until the server has done all that a client asked that is gone, and returns how many requests there were. Connections
// are accepted in the order in which they were made: when one made now is accepted, so are all of the client's.
func (g *gate) end() (requests int, err error) {
	last, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		return 0, err
	}
	defer last.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.seen != last.LocalAddr().String() || len(g.open) > 1 {
		g.moved.Wait()
	}
	return g.n, nil
}

// connection keeps account of the connections. One is closed when all requests on it are done.
func (g *gate) connection(c net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateNew:
		g.open[c], g.seen = true, c.RemoteAddr().String()
	case http.StateClosed:
		delete(g.open, c)
	}
	g.moved.Broadcast()
}

// ServeHTTP passes a request on when all of it is there.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, dies := time.Now(), g.count(r)
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
	answer, text, err := g.ask(r, body, began)
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
func (g *gate) count(r *http.Request) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	g.all++
	ofParts := r.URL.Query().Has("uploadId")
	if ofParts && r.Method == http.MethodGet {
		g.resumed++
	}
	if g.death.ofParts && !ofParts {
		return -1
	}
	if g.met++; g.met == g.death.at {
		return g.death.moment
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
func (g *gate) ask(r *http.Request, body []byte, began time.Time) (*http.Response, []byte, error) {
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
		g.take(r, time.Since(began) > slow)
	}
	return answer, text, err
}

// take records what the server has now: a file, or a part of one. Heads and manifests are no files. It was sent twice if an earlier push
// had sent it, or the same one and the answer was not slow.
func (g *gate) take(r *http.Request, slow bool) {
	sum := r.Header.Get("x-amz-checksum-crc64nvme")
	if sum == "" || strings.Contains(r.URL.Path, "/.muster/") {
		return
	}
	name := fmt.Sprintf("%s part %s of %s", sum, r.URL.Query().Get("partNumber"), r.URL.Path)
	g.mu.Lock()
	defer g.mu.Unlock()
	if was, ok := g.taken[name]; ok && (was.push != g.push || !was.slow) {
		g.twice = append(g.twice, name)
	}
	g.taken[name] = taking{push: g.push, slow: slow}
}
