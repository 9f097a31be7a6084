package cloud

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// ServeHTTP answers a call of an AWS client.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.handlers.Add(1)
	defer c.handlers.Done()
	call, err := wire.Take(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if c.opts.Watch != nil {
		c.opts.Watch(call)
	}
	f := c.fault(call)
	if f.waits(r.Context()) != nil {
		return // the client did not wait
	}
	if f.refuses() {
		c.record(Record{Service: call.Service, Operation: call.Operation(), Inner: call.Key == innerKey, By: "fault", Status: f.answer(call).Status, Lost: f.rule.Kind == LostCall})
		f.then(call)
		if f.rule.Kind == LostCall {
			cut(w)
			return
		}
		send(w, f.answer(call))
		return
	}
	if f.loses() {
		c.serve(&deaf{header: http.Header{}}, call, f)
		f.then(call)
		cut(w)
		return
	}
	c.serve(w, call, f)
	f.then(call)
}

// serve lets one of ours or moto answer.
func (c *Cloud) serve(w http.ResponseWriter, call *wire.Call, f *fault) {
	record := Record{Service: call.Service, Operation: call.Operation(), By: "double", Lost: f.loses(), Inner: call.Key == innerKey}
	answer := c.ours(call)
	switch {
	case answer != nil && answer.Status == http.StatusNotImplemented:
		record.By = "nobody"
		c.miss(w, call, string(answer.Body))
	case answer != nil:
		record.Status = cmp.Or(answer.Status, http.StatusOK)
		if answer.Moto {
			record.By = "moto"
		}
		c.record(record) // before the client knows
		time.Sleep(c.opts.Pause)
		send(w, answer)
		return
	case call.Service == "s3" && c.opts.S3 != "":
		record.By = "s3"
		c.forward(w, call, c.opts.S3, record)
		return
	case c.moto == nil:
		record.By = "nobody"
		c.miss(w, call, "the double runs without moto")
	default:
		record.By = "moto"
		base, err := c.moto.URL()
		if err != nil {
			c.miss(w, call, err.Error())
			break
		}
		c.forward(w, call, base, record)
		return
	}
	c.record(record)
}

// ours asks the services in front of moto. It is nil if none of them answers.
func (c *Cloud) ours(call *wire.Call) *wire.Answer {
	c.mu.Lock()
	services := c.services[call.Service]
	c.mu.Unlock()
	for _, s := range services {
		if answer, ok := s.Answer(call.Request.Context(), call); ok {
			return answer
		}
	}
	return nil
}

// miss answers a call that nobody implements: with a status that no SDK repeats.
func (c *Cloud) miss(w http.ResponseWriter, call *wire.Call, why string) {
	operation := call.Operation()
	c.opts.Log.Error("nobody implements a call", "service", call.Service, "operation", operation, "why", why)
	if c.opts.Missing != nil {
		c.opts.Missing(call.Service, operation, why)
	}
	e := &wire.Error{Status: http.StatusNotImplemented, Code: "NotImplemented", Message: fmt.Sprintf("the double of AWS has no %s %s: %s", call.Service, operation, why)}
	send(w, call.Fault(e))
}

// forward passes a call on and its answer back, whole as it is.
func (c *Cloud) forward(w http.ResponseWriter, call *wire.Call, base string, record Record) {
	response, err := pass(call.Request.Context(), base, call)
	if err != nil {
		c.record(record)
		if call.Request.Context().Err() == nil {
			c.miss(w, call, err.Error())
		}
		return
	}
	defer response.Body.Close()
	record.Status = response.StatusCode
	if c.opts.S3 == "" || call.Service != "s3" {
		if gaveUp(call, response) {
			_, _ = io.Copy(io.Discard, response.Body)
			record.By = "nobody"
			c.record(record)
			c.miss(w, call, c.moto.Why())
			return
		}
	}
	c.record(record) // before the client knows
	for key, values := range response.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the client may go at any time
}

// pass sends a call to another server as it came, with the host that was signed.
func pass(ctx context.Context, base string, call *wire.Call) (*http.Response, error) {
	to, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	r := call.Request.Clone(ctx)
	r.URL.Scheme, r.URL.Host, r.RequestURI = to.Scheme, to.Host, ""
	r.Host = cmp.Or(r.Host, to.Host)
	for _, hop := range []string{"Connection", "Keep-Alive", "Te", "Trailer", "Upgrade"} {
		r.Header.Del(hop)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("pass %s %s on: %w", call.Service, call.Operation(), err)
	}
	return response, nil
}

// send writes an answer.
func send(w http.ResponseWriter, a *wire.Answer) {
	size := len(a.Body)
	for _, p := range a.Parts {
		size += len(p)
	}
	header := w.Header()
	header.Set("Content-Type", a.Type)
	header.Set("Content-Length", fmt.Sprint(size))
	header.Set("X-Amzn-Requestid", "00000000-0000-4000-8000-000000000000")
	for key, value := range a.Header {
		header.Set(key, value)
	}
	w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	_, _ = w.Write(a.Body) // the client may go at any time
	for _, p := range a.Parts {
		if _, err := w.Write(p); err != nil {
			return
		}
	}
}

// cut ends the connection instead of an answer.
func cut(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of a proper end
	}
	_ = connection.Close()
}

// deaf is where an answer goes that is lost.
type deaf struct{ header http.Header }

func (d *deaf) Header() http.Header         { return d.header }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
func (d *deaf) WriteHeader(int)             {}
