// Package faults stands between a client and an S3 server on loopback and does what goes wrong between them: storms of
// errors, broken connections, bodies that are cut off or damaged, silence, a server that is gone, credentials that expire,
// and clocks that differ. What it does, and to which request, a plan says, so that a test with the same seed has the same
// faults. It is for tests.
//
//	_, config := storetest.Stand(t)
//	proxy, config := faults.New(t, config)
//	proxy.Do(faults.Mixed(1, 0.2, faults.All...)) // a fifth of the requests meets a fault
package faults

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// Kind is what happens to a request. Kinds that a request is not made for, as damage to a body that it has not, leave it be.
type Kind string

const (
	None         Kind = ""
	Error500     Kind = "500 InternalError, at once"
	SlowDown     Kind = "503 SlowDown, at once"
	ResetRequest Kind = "connection reset, when the server has half of the request's body"
	ResetAnswer  Kind = "connection reset, when half of the answer's body was sent"
	LostAnswer   Kind = "connection reset, when the server has done all that was asked"
	CutRequest   Kind = "the server gets half of the request's body, and a length that fits and is signed"
	CutAnswer    Kind = "the client gets half of the answer's body, and a length that fits"
	BrokenAnswer Kind = "the client gets half of the answer's body and the end of the connection"
	FlipRequest  Kind = "one bit of the request's body is another one"
	FlipAnswer   Kind = "one bit of the answer's body is another one"
	Hang         Kind = "nothing of the request's body is taken, and nothing is answered"
	HangRequest  Kind = "half of the request's body is taken, and nothing more"
	HangAnswer   Kind = "half of the answer's body is sent, and nothing more"
)

// All are the kinds but those that take the client's whole patience with silence.
var All = []Kind{Error500, SlowDown, ResetRequest, ResetAnswer, LostAnswer, CutRequest, CutAnswer, BrokenAnswer, FlipRequest, FlipAnswer}

// Fault is what happens, and where in a body: from 0, its beginning, to 1.
type Fault struct {
	Kind Kind
	At   float64
}

// Plan says what happens to a request. It is asked in the order in which requests come, one at a time.
type Plan func(*http.Request) Fault

// Always does the same to each request.
func Always(k Kind) Plan { return func(*http.Request) Fault { return Fault{k, 0.5} } }

// First does the same to the first n requests that match and that it can be done to, and nothing to others. A nil match takes all.
func First(n int, k Kind, match func(*http.Request) bool) Plan {
	return func(r *http.Request) Fault {
		if n == 0 || !k.Suits(r) || match != nil && !match(r) {
			return Fault{}
		}
		n--
		return Fault{k, 0.5}
	}
}

// Mixed does one of the kinds to requests by chance, from 0 (none) to 1 (each), anywhere in their bodies. With the same
// seed, the n-th request meets the same.
func Mixed(seed uint64, chance float64, kinds ...Kind) Plan {
	r := rand.New(rand.NewPCG(seed, 15))
	return func(*http.Request) Fault {
		hit, kind, at := r.Float64() < chance, kinds[r.IntN(len(kinds))], r.Float64()
		if !hit {
			return Fault{}
		}
		return Fault{kind, at}
	}
}

// Parts are the requests that send a part of an upload.
func Parts(r *http.Request) bool {
	return r.URL.Query().Has("partNumber") && r.Method == http.MethodPut
}

// Objects are the requests that send or get an object as a whole or a range of it.
func Objects(r *http.Request) bool {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	asks := r.URL.Query()
	asks.Del("x-id")
	return key != "" && len(asks) == 0 && (r.Method == http.MethodPut || r.Method == http.MethodGet)
}

// Request is one that came.
type Request struct {
	Method, Path, Query string
	Fault               Kind
	Status              int   // what the client was told, 0 if nothing
	SentBytes           int64 // of the body, to the server
}

// diary is what came.
type diary struct {
	mu   sync.Mutex // guards what follows
	all  []*Request
	plan Plan
}

// meet writes a request down, and says what it meets.
func (d *diary) meet(r *http.Request) (*Request, Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := Fault{}
	if d.plan != nil {
		f = d.plan(r)
	}
	if !f.Kind.Suits(r) {
		f = Fault{}
	}
	req := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Fault: f.Kind}
	d.all = append(d.all, req)
	return req, f
}

// Suits reports whether the request has the body that the fault is about. Bodies of lists and the like are left alone, but for
// a broken connection.
func (k Kind) Suits(r *http.Request) bool {
	switch k {
	case ResetRequest, CutRequest, FlipRequest, HangRequest:
		return r.ContentLength > 0 && (Objects(r) || Parts(r))
	case CutAnswer, FlipAnswer:
		return r.Method == http.MethodGet && Objects(r)
	case ResetAnswer, BrokenAnswer, HangAnswer:
		return r.Method == http.MethodGet
	}
	return true
}
