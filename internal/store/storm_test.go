package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// servers are the S3 servers that tests of faults use.
func servers(t *testing.T) map[string]store.Config {
	_, stand := storetest.Stand(t)
	return map[string]store.Config{"stand": stand, "second": storetest.Second(t)}
}

// patient opens a bucket that endures everything, in parts of 5 MiB.
func patient(t *testing.T, c store.Config) *store.S3 {
	t.Helper()
	c.Bucket, c.Patience = "bucket", time.Minute
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.Hurry()
	s.Divide(5<<20, 5<<20, 100)
	if err := s.MakeBucket(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFaultsAreSurvived has each kind of fault happen to the first requests for objects and parts, on the way to both servers.
func TestFaultsAreSurvived(t *testing.T) {
	for name, config := range servers(t) {
		proxy, config := faults.New(t, config)
		s := patient(t, config)
		for _, kind := range faults.All {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				proxy.Do(faults.First(2, kind, faults.Objects))
				comesBack(t, s, 100_000)
				proxy.Do(faults.First(2, kind, faults.Parts))
				comesBack(t, s, 5<<20+100_000) // two parts
			})
		}
	}
}

// TestSilenceIsSurvived has nothing move any more, at three points.
func TestSilenceIsSurvived(t *testing.T) {
	for name, config := range servers(t) {
		proxy, config := faults.New(t, config)
		config.Idle = 300 * time.Millisecond
		s := patient(t, config)
		for _, kind := range []faults.Kind{faults.Hang, faults.HangRequest, faults.HangAnswer} {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				proxy.Do(faults.First(1, kind, faults.Objects))
				comesBack(t, s, 100_000)
			})
		}
	}
}

// TestManyFaults has a third of all requests meet one, of many at a time. The seed says which.
func TestManyFaults(t *testing.T) {
	for name, config := range servers(t) {
		t.Run(name, func(t *testing.T) {
			proxy, config := faults.New(t, config)
			s := patient(t, config)
			proxy.Do(faults.Mixed(15, 0.33, faults.All...))
			group, ctx := errgroup.WithContext(t.Context())
			group.SetLimit(8)
			for i := range 60 {
				group.Go(func() error {
					body := content(1000 * (i + 1))
					_, err := s.Put(ctx, store.Upload{Key: fmt.Sprint(i), Body: bytes.NewReader(body), SizeBytes: int64(len(body))})
					return err
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			for i := range 60 {
				if got := get(t, s, fmt.Sprint(i)); !bytes.Equal(got, content(1000*(i+1))) {
					t.Errorf("%d has other bytes", i)
				}
			}
		})
	}
}

// TestServerIsGoneForAWhile takes the server away before an upload and in the midst of a download. It comes back when it was missed
// three times.
func TestServerIsGoneForAWhile(t *testing.T) {
	for name, config := range servers(t) {
		t.Run(name, func(t *testing.T) {
			proxy, config := faults.New(t, config)
			var missed atomic.Int32
			config.Bell = func(error, time.Duration) {
				if missed.Add(1)%3 == 0 {
					proxy.Back()
				}
			}
			s := patient(t, config)
			proxy.Gone()
			body := content(2 << 20)
			if _, err := s.Put(t.Context(), store.Upload{Key: "key", Body: bytes.NewReader(body), SizeBytes: int64(len(body))}); err != nil {
				t.Fatal(err)
			}
			proxy.Do(faults.First(1, faults.HangAnswer, faults.Objects))
			r, _, err := s.Get(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := make([]byte, 1000)
			if _, err := io.ReadFull(r, got); err != nil {
				t.Fatal(err)
			}
			proxy.Gone()
			rest, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(append(got, rest...), body) {
				t.Errorf("other bytes came back, %v", err)
			}
			if missed.Load() < 6 {
				t.Errorf("it was missed %d times", missed.Load())
			}
		})
	}
}

// TestNameIsGoneForAWhile has no name be found, as where a machine has lost its network: at once it is a wrong name, later it is waited for.
func TestNameIsGoneForAWhile(t *testing.T) {
	_, config := storetest.Stand(t)
	proxy, config := faults.New(t, config)
	var missed atomic.Int32
	missed.Store(1)
	config.Bucket, config.Patience = "bucket", time.Minute
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if missed.Load() > 0 {
			missed.Add(-1)
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	s, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.Hurry()
	if err := s.MakeBucket(t.Context()); err == nil || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("a wrong name got %v", err)
	}
	if err := s.MakeBucket(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy.Gone()
	proxy.Back()
	missed.Store(5)
	comesBack(t, s, 1000)
	if missed.Load() != 0 {
		t.Errorf("it was looked for %d times too few", missed.Load())
	}
}

// TestPatienceEnds has a server that does not come back.
func TestPatienceEnds(t *testing.T) {
	_, config := storetest.Stand(t)
	proxy, config := faults.New(t, config)
	proxy.Gone()
	config.Bucket, config.Patience, config.Attempts = "bucket", time.Nanosecond, 3
	s, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.Hurry()
	_, err = s.Head(t.Context(), "key")
	if err == nil || !strings.Contains(err.Error(), "connection refused, 3 times within ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// comesBack puts an object and gets it again, as a whole and in part.
func comesBack(t *testing.T, s *store.S3, size int) {
	t.Helper()
	body := content(size)
	o, err := s.Put(t.Context(), store.Upload{Key: "key", Body: bytes.NewReader(body), SizeBytes: int64(size)})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, "key"); !bytes.Equal(got, body) {
		t.Fatalf("%d bytes: others came back", size)
	}
	r, err := s.Range(t.Context(), "key", 10, int64(size-20), o.Version)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body[10:size-10]) {
		t.Fatalf("%d bytes: others came of a range, %v", size, err)
	}
}

// get gets an object, again if it was damaged: that is for who reads it to do, who had the bytes before.
func get(t *testing.T, s *store.S3, key string) []byte {
	t.Helper()
	for {
		r, _, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		r.Close()
		if errors.Is(err, store.ErrChecksum) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
}
