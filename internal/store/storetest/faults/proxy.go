package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/internal/store"
)

// Proxy is a way to an S3 server. It ends with its test.
type Proxy struct {
	t       *testing.T
	server  *url.URL
	client  *http.Transport
	signer  aws.Credentials
	region  string
	address string
	diary   diary
	under   sync.WaitGroup // requests that the server answers

	mu      sync.Mutex // guards what follows
	door    *http.Server
	held    []net.Conn // on which nothing happens any more
	expired map[string]bool
	skew    time.Duration
	deaf    Deafness
}

// New opens a way to a server, and returns how clients reach it there. At first, nothing goes wrong on it.
func New(t *testing.T, c store.Config) (*Proxy, store.Config) {
	t.Helper()
	server, err := url.Parse(c.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := c.Keys().Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, server: server, signer: signer, region: c.Region, address: "127.0.0.1:0", expired: map[string]bool{},
		client: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	t.Cleanup(func() {
		p.Gone()
		p.client.CloseIdleConnections()
	})
	p.Back()
	c.Endpoint = "http://" + p.address
	return p, c
}

// Do makes what the plan says go wrong from now on, instead of what went wrong before. A nil plan is none.
func (p *Proxy) Do(plan Plan) {
	p.diary.mu.Lock()
	defer p.diary.mu.Unlock()
	p.diary.plan = plan
}

// Forget forgets all requests that came.
func (p *Proxy) Forget() {
	p.diary.mu.Lock()
	defer p.diary.mu.Unlock()
	p.diary.all = nil
}

// Requests are those that came.
func (p *Proxy) Requests() []Request {
	p.diary.mu.Lock()
	defer p.diary.mu.Unlock()
	var all []Request
	for _, r := range p.diary.all {
		all = append(all, *r)
	}
	return all
}

// Gone takes the server away: all connections break, and new ones are refused.
func (p *Proxy) Gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.door == nil {
		return
	}
	p.door.Close()
	p.door = nil
	for _, c := range p.held {
		c.Close()
	}
	p.held = nil
}

// begun reports whether a request may still go to the server. If so, it has to be done.
func (p *Proxy) begun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.door == nil {
		return false
	}
	p.under.Add(1)
	return true
}

// Settle waits for the server's answers to requests that were cut off: what they do is done then.
func (p *Proxy) Settle() { p.under.Wait() }

// Back brings the server back, where it was.
func (p *Proxy) Back() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.door != nil {
		return
	}
	listener, err := listen(p.t.Context(), p.address)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.address = listener.Addr().String()
	p.door = &http.Server{Handler: http.HandlerFunc(p.pass)}
	go p.door.Serve(listener)
}

// listen takes an address again, as soon as whoever may have it meanwhile, for a connection of his own, has left it.
func listen(ctx context.Context, address string) (net.Listener, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		l, err := net.Listen("tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

// Expire has requests that are signed with a session token answered with ExpiredToken from now on.
func (p *Proxy) Expire(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired[token] = true
}

// Skew sets the server's clock off by so much. Requests of another time than the server's are refused, as S3 does it; the others are
// signed again for the server, whose clock is right.
func (p *Proxy) Skew(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew = by
}

// Deafen has the server do without checksums from now on.
func (p *Proxy) Deafen(d Deafness) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = d
}

// pass answers a request.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	entry, fault := p.diary.meet(r)
	note := &noted{w, p, entry}
	if p.refuses(note, r) {
		return
	}
	switch fault.Kind {
	case Error500:
		refuse(note, r, http.StatusInternalServerError, "InternalError")
	case SlowDown:
		refuse(note, r, http.StatusServiceUnavailable, "SlowDown")
	case Hang:
		p.hold(w)
	case HangRequest:
		io.CopyN(io.Discard, r.Body, fault.within(r.ContentLength))
		p.hold(w)
	default:
		p.forward(note, r, fault)
	}
}

// noted writes down what the client is told.
type noted struct {
	http.ResponseWriter
	proxy *Proxy
	entry *Request
}

func (n *noted) WriteHeader(status int) {
	n.proxy.diary.mu.Lock()
	n.entry.Status = status
	n.proxy.diary.mu.Unlock()
	n.ResponseWriter.WriteHeader(status)
}

func (n *noted) sent(bytes int64) {
	n.proxy.diary.mu.Lock()
	n.entry.SentBytes += bytes
	n.proxy.diary.mu.Unlock()
}

// refuse answers with an error in the words of S3.
func refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Connection", "close") // the body of the request stays unread
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>by the plan of a test</Message></Error>", code)
	}
}

// take takes the connection away from the server of HTTP.
func take(w http.ResponseWriter) net.Conn {
	if n, ok := w.(*noted); ok {
		w = n.ResponseWriter
	}
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return c
}

// hold lets nothing more happen on a connection.
func (p *Proxy) hold(w http.ResponseWriter) {
	c := take(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.door == nil {
		c.Close()
		return
	}
	p.held = append(p.held, c)
}

// reset ends a connection as a router does that forgot it.
func reset(w http.ResponseWriter) {
	c := take(w)
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

// within is where in a body it happens: after the first byte and before the last.
func (f Fault) within(length int64) int64 {
	return min(max(1, int64(f.At*float64(length))), max(0, length-1))
}

// hop are headers of one connection.
var hop = []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Expect"}

func copyHeader(to, from http.Header) {
	for k, v := range from {
		if !slices.Contains(hop, k) {
			to[k] = v
		}
	}
}
