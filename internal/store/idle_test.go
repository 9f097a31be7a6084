package store

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// endless is a body that the transport reads as long as the server takes it.
type endless struct{ reads atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.reads.Add(1)
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// TestNothingIsReadOfARequestThatIsOver has a server that answers at once and goes on reading: when the answer was read, the body, whose memory
// goes to others then, is left alone.
func TestNothingIsReadOfARequestThatIsOver(t *testing.T) {
	left := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(left)
		http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(http.StatusForbidden)
		w.(http.Flusher).Flush()
		io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	body := &endless{}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := idleClient{http.DefaultClient, time.Minute, pace{}, nil}.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	reads := body.reads.Load()
	<-left
	if now := body.reads.Load(); now != reads {
		t.Errorf("%d reads came afterwards", now-reads)
	}
}
