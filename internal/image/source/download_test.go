package source_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// blobServer has large blobs sent by cut, from an offset on, and counts their
// bytes. n is the number of the request.
func blobServer(t *testing.T, p *place, cut func(n int, w http.ResponseWriter, body []byte, from int)) *atomic.Int64 {
	t.Helper()
	var requests atomic.Int32
	var sent atomic.Int64
	p.put(func(w http.ResponseWriter, r *http.Request, real http.Handler) {
		if !strings.Contains(r.URL.Path, "/blobs/") {
			real.ServeHTTP(w, r)
			return
		}
		whole := r.Clone(r.Context())
		whole.Header.Del("Range")
		rec := httptest.NewRecorder()
		real.ServeHTTP(rec, whole)
		body := rec.Body.Bytes()
		if len(body) < 50_000 {
			w.Write(body) // the configuration
			return
		}
		from := 0
		if said := r.Header.Get("Range"); said != "" {
			fmt.Sscanf(said, "bytes=%d-", &from)
		}
		cut(int(requests.Add(1)), counting{w, &sent}, body, from)
	})
	return &sent
}

type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

func (c counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func partial(w http.ResponseWriter, body []byte, from int) {
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(body)-1, len(body)))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)-from))
	w.WriteHeader(http.StatusPartialContent)
}

func TestDownload(t *testing.T) {
	const size = 4 << 20
	for _, test := range []struct {
		name string
		cut  func(n int, w http.ResponseWriter, body []byte, from int)
		// most is how many bytes may be sent, in hundredths of the layer.
		most int64
		want string
	}{
		{"goes_on_after_breaks", func(n int, w http.ResponseWriter, body []byte, from int) {
			if from > 0 {
				partial(w, body, from)
			}
			if n < 6 {
				w.Write(body[from : from+len(body)/8])
				panic(http.ErrAbortHandler)
			}
			w.Write(body[from:])
		}, 101, ""},
		{"server_without_ranges", func(n int, w http.ResponseWriter, body []byte, _ int) {
			if n == 1 {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				w.Write(body[:len(body)/2])
				panic(http.ErrAbortHandler)
			}
			w.Write(body)
		}, 151, ""},
		{"ends_too_early_and_says_it_is_whole", func(n int, w http.ResponseWriter, body []byte, from int) {
			if from > 0 {
				partial(w, body, from)
				w.Write(body[from:])
				return
			}
			w.(counting).ResponseWriter.(http.Flusher).Flush() // no length
			w.Write(body[:1000])
		}, 101, ""},
		{"stalls", func(n int, w http.ResponseWriter, body []byte, from int) {
			if from > 0 {
				partial(w, body, from)
				w.Write(body[from:])
				return
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.Write(body[:len(body)/2])
			http.NewResponseController(w).Flush()
			hang(w)
		}, 101, ""},
		{"breaks_always", func(n int, w http.ResponseWriter, body []byte, from int) {
			panic(http.ErrAbortHandler)
		}, 100, "given up at byte 0 of"},
		{"wrong_length", func(n int, w http.ResponseWriter, body []byte, from int) {
			w.Header().Set("Content-Length", "17")
			w.Write(body[:17])
		}, 100, "bytes and has 17"},
		{"wrong_range", func(n int, w http.ResponseWriter, body []byte, from int) {
			if from == 0 {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				w.Write(body[:len(body)/2])
				panic(http.ErrAbortHandler)
			}
			partial(w, body, from-1)
			w.Write(body[from-1:])
		}, 200, "the registry answered with"},
		{"gone", func(n int, w http.ResponseWriter, body []byte, from int) {
			http.Error(w, "{}", http.StatusNotFound)
		}, 100, "not found"},
		{"too_long", func(n int, w http.ResponseWriter, body []byte, from int) {
			w.(counting).ResponseWriter.(http.Flusher).Flush()
			w.Write(body)
			w.Write(body)
		}, 300, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t)
			p.push(t, linux(t, "amd64", size, 1), "v1")
			sent := blobServer(t, p, test.cut)
			o := quick
			if o.Stall = time.Hour; test.name == "stalls" {
				o.Stall = 2 * time.Second
			}
			img, err := p.open(t, "a/b:v1", o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := sum(t.Context(), img.Layers[0])
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("got %v, want %q", err, test.want)
				}
			} else if err != nil || got != img.Layers[0].Digest {
				t.Fatalf("got %s, %v, want %s", got, err, img.Layers[0].Digest)
			}
			if n := sent.Load() * 100 / img.Layers[0].Size; n > test.most {
				t.Errorf("%d %% of the layer were sent, want at most %d", n, test.most)
			}
		})
	}
}

// hang waits until the client goes away.
func hang(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = conn.Read(make([]byte, 1))
}

func TestDownloadStopped(t *testing.T) {
	p := newPlace(t)
	p.push(t, linux(t, "amd64", 1<<20, 1), "v1")
	ctx, cancel := context.WithCancelCause(t.Context())
	blobServer(t, p, func(_ int, w http.ResponseWriter, body []byte, _ int) {
		w.Write(body[:1000])
		http.NewResponseController(w).Flush()
		cancel(errors.New("enough"))
		hang(w)
	})
	img, err := p.open(t, "a/b:v1", quick)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sum(ctx, img.Layers[0]); err == nil || err.Error() != "enough" {
		t.Errorf("got %v, want the context's cause", err)
	}
}
