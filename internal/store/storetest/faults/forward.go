package faults

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// forward asks the server, and passes its answer on.
func (p *Proxy) forward(w *noted, r *http.Request, f Fault) {
	if !p.begun() {
		reset(w)
		return
	}
	defer p.under.Done()
	out, err := p.outgoing(w, r, f)
	if err != nil {
		refuse(w, r, http.StatusBadGateway, "BadGateway")
		return
	}
	answer, err := p.client.RoundTrip(out)
	if f.Kind == ResetRequest || f.Kind == LostAnswer || err != nil {
		if err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		reset(w)
		return
	}
	defer answer.Body.Close()
	if p.deafness().leave(answer) != nil {
		reset(w)
		return
	}
	p.answer(w, answer, f)
}

// outgoing is the request as the server gets it.
func (p *Proxy) outgoing(w *noted, r *http.Request, f Fault) (*http.Request, error) {
	to := &url.URL{Scheme: p.server.Scheme, Host: p.server.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	out := (&http.Request{Method: r.Method, URL: to, Host: r.Host, Header: http.Header{}, ContentLength: r.ContentLength}).WithContext(context.WithoutCancel(r.Context()))
	copyHeader(out.Header, r.Header)
	if r.ContentLength != 0 {
		var body io.Reader = r.Body
		at := f.within(r.ContentLength)
		switch f.Kind {
		case ResetRequest:
			body = io.MultiReader(io.LimitReader(body, at), broken{})
		case CutRequest:
			body, out.ContentLength = io.LimitReader(body, at), at
		case FlipRequest:
			body = &flipped{Reader: body, at: at}
		}
		out.Body = io.NopCloser(&counted{body, w})
	}
	if err := p.deafness().take(out); err != nil {
		return nil, err
	}
	return out, p.sign(out, f)
}

// answer passes an answer on.
func (p *Proxy) answer(w *noted, answer *http.Response, f Fault) {
	copyHeader(w.Header(), answer.Header)
	p.tell(w.Header())
	length := answer.ContentLength
	var body io.Reader = answer.Body
	at := f.within(length)
	short := length > 1 && (f.Kind == ResetAnswer || f.Kind == BrokenAnswer || f.Kind == HangAnswer || f.Kind == CutAnswer)
	if short {
		body = io.LimitReader(body, at)
	}
	if short && f.Kind == CutAnswer {
		w.Header().Set("Content-Length", strconv.FormatInt(at, 10))
	}
	if length > 0 && f.Kind == FlipAnswer && answer.StatusCode < 300 {
		body = &flipped{Reader: body, at: at}
	}
	w.WriteHeader(answer.StatusCode)
	_, err := io.Copy(w, body)
	if !short && err == nil || short && f.Kind == CutAnswer {
		return
	}
	if err != nil || f.Kind == BrokenAnswer {
		panic(http.ErrAbortHandler)
	}
	w.ResponseWriter.(http.Flusher).Flush()
	if f.Kind == HangAnswer {
		p.hold(w)
		return
	}
	reset(w)
}

// broken is the end of a connection.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken by the plan of a test") }

// flipped has one bit that is another one.
type flipped struct {
	io.Reader
	at int64
}

func (f *flipped) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if f.at >= 0 && f.at < int64(n) {
		p[f.at] ^= 1
	}
	f.at -= int64(n)
	return n, err
}

// counted writes down what goes to the server.
type counted struct {
	io.Reader
	note *noted
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.note.sent(int64(n))
	return n, err
}
