package store_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// assembly is a server that takes one upload in parts, each after it failed once.
type assembly struct {
	fail func(w http.ResponseWriter, r *http.Request)

	mu      sync.Mutex // guards what follows
	failed  map[string]bool
	parts   map[string][]byte
	done    string // the CRC of the whole, when they were joined
	aborted bool
}

func (a *assembly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	part := r.URL.Query().Get("partNumber")
	a.mu.Lock()
	first := part != "" && !a.failed[part]
	a.failed[part] = true
	a.mu.Unlock()
	if first {
		a.fail(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case part != "" && (err != nil || crcOf(body) != r.Header.Get("X-Amz-Checksum-Crc64nvme")):
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, "<Error><Code>BadDigest</Code></Error>")
	case part != "":
		a.parts[part] = body
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("X-Amz-Checksum-Crc64nvme", crcOf(body))
	case r.Method == http.MethodDelete:
		a.aborted = true
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Query().Has("uploads"):
		io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>")
	default:
		a.done = r.Header.Get("X-Amz-Checksum-Crc64nvme")
		fmt.Fprintf(w, `<CompleteMultipartUploadResult><ETag>"e-2"</ETag><ChecksumCRC64NVME>%s</ChecksumCRC64NVME></CompleteMultipartUploadResult>`, crcOf(a.whole()))
	}
}

func (a *assembly) whole() []byte {
	var all []byte
	for n := range len(a.parts) {
		all = append(all, a.parts[fmt.Sprint(n+1)]...)
	}
	return all
}

func crcOf(b []byte) string {
	crc := crc64.Checksum(b, crc64.MakeTable(0x9a6c9329ac4bc9b5))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc))
}

func answers500(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusInternalServerError)
}

func answersAtOnce(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

func resets(w http.ResponseWriter, r *http.Request) {
	io.CopyN(io.Discard, r.Body, 1000)
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		c.Close()
	}
}

func content(bytes int) []byte {
	b := make([]byte, bytes)
	rand.NewChaCha8([32]byte{3}).Read(b)
	return b
}

// TestPartsAreReadOnce has every part fail once: it is sent again from memory, not from the source.
func TestPartsAreReadOnce(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request){"500": answers500, "503_at_once": answersAtOnce, "reset": resets} {
		t.Run(name, func(t *testing.T) {
			server := &assembly{fail: fail, failed: map[string]bool{}, parts: map[string][]byte{}}
			s := faulty(t, time.Minute, server.ServeHTTP)
			s.Divide(1<<20, 1<<20, 100)
			body := content(6<<20 + 7)
			read := &storetest.Source{Body: body}
			o, err := s.Put(t.Context(), store.Upload{Key: "key", Body: read, SizeBytes: int64(len(body))})
			if err != nil {
				t.Fatal(err)
			}
			sums, err := store.Sum(bytes.NewReader(body), int64(len(body)))
			if err != nil || o.SHA256 != sums.SHA256 || o.CRC64NVME != sums.CRC64NVME || server.done != crcOf(body) {
				t.Errorf("it is %+v and %s, %v", o, server.done, err)
			}
			if !slices.Equal(server.whole(), body) {
				t.Error("other bytes were sent")
			}
			if at, once := read.Read(); at != int64(len(body)) || !once {
				t.Errorf("%d of %d bytes were read, each once: %v", at, len(body), once)
			}
			if s.Held() != 0 {
				t.Errorf("%d bytes of memory are still held", s.Held())
			}
		})
	}
}

// TestWholeIsReadOnce is the same of what goes in one request.
func TestWholeIsReadOnce(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request){"500": answers500, "503_at_once": answersAtOnce, "reset": resets} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex // guards got
			var got [][]byte
			s := faulty(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if got = append(got, nil); len(got) == 1 {
					fail(w, r)
					return
				}
				got[len(got)-1], _ = io.ReadAll(r.Body)
				w.Header().Set("X-Amz-Checksum-Crc64nvme", crcOf(got[len(got)-1]))
			})
			body := content(3 << 20)
			read := &storetest.Source{Body: body}
			if _, err := s.Put(t.Context(), store.Upload{Key: "key", Body: read, SizeBytes: int64(len(body))}); err != nil {
				t.Fatal(err)
			}
			if len(got) != 2 || !slices.Equal(got[1], body) {
				t.Errorf("%d requests came, the last with other bytes", len(got))
			}
			if at, once := read.Read(); at != int64(len(body)) || !once {
				t.Errorf("%d of %d bytes were read, each once: %v", at, len(body), once)
			}
		})
	}
}

// TestPartsThatCannotBeHeld has parts that are larger than what is held of one.
func TestPartsThatCannotBeHeld(t *testing.T) {
	server := &assembly{fail: answers500, failed: map[string]bool{}, parts: map[string][]byte{}}
	s := faulty(t, time.Minute, server.ServeHTTP)
	s.Divide(1<<20, 1<<20, 2)
	body := content(5<<20 + 1)
	o, err := s.Put(t.Context(), store.Upload{Key: "key", Body: bytes.NewReader(body), SizeBytes: int64(len(body))})
	if err != nil || o.CRC64NVME != crcOf(body) || len(server.parts) != 2 || !slices.Equal(server.whole(), body) {
		t.Errorf("%d parts, %+v, %v", len(server.parts), o, err)
	}
}

// TestCutUploadsAreAborted has an upload in parts end for every reason that is ours: nothing of it is left.
func TestCutUploadsAreAborted(t *testing.T) {
	body, why := content(6<<20), errors.New("why")
	other, err := store.Sum(bytes.NewReader(body), 5)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*store.Upload, *storetest.Source)
		want   error
	}{
		"another":    {func(u *store.Upload, _ *storetest.Source) { u.Same = func() error { return why } }, why},
		"unreadable": {func(_ *store.Upload, s *storetest.Source) { s.At, s.Then = 4<<20, func() error { return why } }, why},
		"too_short":  {func(u *store.Upload, _ *storetest.Source) { u.SizeBytes++ }, io.ErrUnexpectedEOF},
		"other_sums": {func(u *store.Upload, _ *storetest.Source) { u.Sums = other }, store.ErrChecksum},
	} {
		t.Run(name, func(t *testing.T) {
			server := &assembly{fail: answers500, failed: map[string]bool{}, parts: map[string][]byte{}}
			s := faulty(t, time.Minute, server.ServeHTTP)
			s.Divide(1<<20, 1<<20, 100)
			read := &storetest.Source{Body: body}
			u := store.Upload{Key: "key", Body: read, SizeBytes: int64(len(body))}
			c.change(&u, read)
			if _, err := s.Put(t.Context(), u); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if !server.aborted || server.done != "" || s.Held() != 0 {
				t.Errorf("aborted: %v, joined: %q, %d bytes of memory held", server.aborted, server.done, s.Held())
			}
		})
	}
}
