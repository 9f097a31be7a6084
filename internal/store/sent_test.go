package store_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
)

// TestHangingUploadEnds has a server that takes some of an upload and then nothing more.
func TestHangingUploadEnds(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	s := faulty(t, 30*time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
		io.CopyN(io.Discard, r.Body, 1)
		select {
		case <-done:
		case <-r.Context().Done():
		}
	})
	body := bytes.Repeat([]byte("x"), 32<<20)
	_, err := s.Put(t.Context(), store.Upload{Key: "key", Body: bytes.NewReader(body), SizeBytes: int64(len(body))})
	if err == nil || !strings.Contains(err.Error(), "nothing moved for 30ms") {
		t.Errorf("got %v", err)
	}
}

// TestSentIsTold counts what goes out; what goes out again is not counted twice.
func TestSentIsTold(t *testing.T) {
	var asked atomic.Int32
	s := faulty(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		w.Header().Set("X-Amz-Checksum-Crc64nvme", r.Header.Get("X-Amz-Checksum-Crc64nvme"))
	})
	var sent, back atomic.Int64
	body := bytes.Repeat([]byte("x"), 1<<20)
	_, err := s.Put(t.Context(), store.Upload{Key: "key", Body: bytes.NewReader(body), SizeBytes: int64(len(body)), Sent: func(n int64) {
		sent.Add(n)
		back.Add(min(n, 0))
	}})
	if err != nil || sent.Load() != int64(len(body)) || back.Load() == 0 {
		t.Errorf("%d bytes were told, %d of them taken back: %v", sent.Load(), back.Load(), err)
	}
}
