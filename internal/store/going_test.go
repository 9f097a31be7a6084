package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// TestFinishedPartsAreNotSentAgain cuts an upload off when two of its parts are there, as the end of a process does, and goes on with it.
func TestFinishedPartsAreNotSentAgain(t *testing.T) {
	for name, config := range servers(t) {
		t.Run(name, func(t *testing.T) {
			proxy, config := faults.New(t, config)
			body := content(11 << 20)
			id := cutOff(t, proxy, patient(t, config), body)
			proxy.Do(nil)
			proxy.Forget()
			var kept atomic.Int64
			source := &storetest.Source{Body: body}
			o, err := patient(t, config).Put(t.Context(), store.Upload{Key: "key", Body: source, SizeBytes: int64(len(body)), Resume: id,
				Kept: func(n int64) { kept.Add(n) }, Begun: func(string) error { return errors.New("it began anew") }})
			if err != nil || o.CRC64NVME != crcOf(body) || len(o.Parts) != 3 || kept.Load() != 10<<20 {
				t.Errorf("%d bytes were kept, %+v, %v", kept.Load(), o, err)
			}
			if at, once := source.Read(); at != int64(len(body)) || !once {
				t.Errorf("%d bytes were read, each once: %v", at, once)
			}
			for _, r := range proxy.Requests() {
				if strings.Contains(r.Query, "partNumber=1&") || strings.Contains(r.Query, "partNumber=2&") {
					t.Errorf("a finished part was sent again: %+v", r)
				}
			}
			if got := get(t, patient(t, config), "key"); !bytes.Equal(got, body) {
				t.Error("other bytes came back")
			}
		})
	}
}

// cutOff begins an upload of three parts, of which the last gets no answer, and cancels it when the others are there.
func cutOff(t *testing.T, proxy *faults.Proxy, s *store.S3, body []byte) (id string) {
	t.Helper()
	proxy.Do(func(r *http.Request) faults.Fault {
		if r.URL.Query().Get("partNumber") == "3" {
			return faults.Fault{Kind: faults.Hang}
		}
		return faults.Fault{}
	})
	proxy.Forget()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := s.Put(ctx, store.Upload{Key: "key", Body: bytes.NewReader(body), SizeBytes: int64(len(body)),
			Begun: func(as string) error { id = as; return nil }})
		ended <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for answered(proxy) < 2 {
		<-tick.C
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled upload got %v", err)
	}
	return id
}

// answered counts the parts that were.
func answered(proxy *faults.Proxy) int {
	n := 0
	for _, r := range proxy.Requests() {
		if strings.Contains(r.Query, "partNumber=") && r.Status == http.StatusOK {
			n++
		}
	}
	return n
}

// TestJoinedButUnheard has the parts be joined, and nobody hear of it before the process ends. The next one finds the object.
func TestJoinedButUnheard(t *testing.T) {
	for name, config := range servers(t) {
		t.Run(name, func(t *testing.T) {
			proxy, config := faults.New(t, config)
			body, id := content(6<<20), ""
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			config.Bell = func(error, time.Duration) { cancel() }
			proxy.Do(faults.First(1, faults.LostAnswer, joins))
			u := store.Upload{Key: "key", Body: bytes.NewReader(body), SizeBytes: int64(len(body)), Begun: func(as string) error { id = as; return nil }}
			if _, err := patient(t, config).Put(ctx, u); !errors.Is(err, context.Canceled) {
				t.Fatalf("the process that died got %v", err)
			}
			config.Bell = nil
			proxy.Forget()
			u.Resume, u.Begun = id, func(string) error { return errors.New("it began anew") }
			o, err := patient(t, config).Put(t.Context(), u)
			if err != nil || o.CRC64NVME != crcOf(body) || len(o.Parts) != 2 {
				t.Errorf("got %+v, %v", o, err)
			}
			for _, r := range proxy.Requests() {
				if r.SentBytes > 100_000 {
					t.Errorf("it was sent again: %+v", r)
				}
			}
		})
	}
}

func joins(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }

// TestLostAnswers has the answer to what is done but once get lost: the next attempt finds it done, and knows that it was its own deed.
func TestLostAnswers(t *testing.T) {
	for name, config := range servers(t) {
		proxy, config := faults.New(t, config)
		s := patient(t, config)
		for size, match := range map[int]func(*http.Request) bool{1000: faults.Objects, 6 << 20: joins} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				u := store.Upload{Key: fmt.Sprint(size), Body: bytes.NewReader(content(size)), SizeBytes: int64(size), Meta: map[string]string{"a": "b"}}
				proxy.Do(faults.First(1, faults.LostAnswer, match))
				first, err := s.PutIf(t.Context(), u, "")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.PutIf(t.Context(), u, ""); !errors.Is(err, store.ErrChanged) {
					t.Errorf("where an object is, there is none: %v", err)
				}
				u.Meta = map[string]string{"a": "c"}
				proxy.Do(faults.First(1, faults.LostAnswer, match))
				if o, err := s.PutIf(t.Context(), u, first.Version); err != nil || o.Meta["a"] != "c" {
					t.Errorf("the second got %+v, %v", o, err)
				}
			})
		}
	}
}

// TestAsked has classes of storage and keys of KMS asked for, of a place that knows them and of one that does not and says nothing.
func TestAsked(t *testing.T) {
	for name, config := range servers(t) {
		s := patient(t, config)
		for _, size := range []int{1000, 6 << 20} {
			for what, u := range map[string]store.Upload{"class": {Class: "STANDARD_IA"}, "key": {KMSKey: "alias/mine"}} {
				t.Run(fmt.Sprint(name, size, what), func(t *testing.T) {
					u.Key, u.Body, u.SizeBytes = "key", bytes.NewReader(content(size)), int64(size)
					for range 2 {
						_, err := s.Put(t.Context(), u)
						if name == "stand" && !errors.Is(err, store.ErrIgnored) || name == "second" && err != nil {
							t.Errorf("got %v", err)
						}
					}
				})
			}
		}
		u := store.Upload{Key: "key", Body: strings.NewReader(""), Class: "STANDARD"}
		if _, err := s.Put(t.Context(), u); err != nil {
			t.Errorf("%s: the usual class got %v", name, err)
		}
	}
}
