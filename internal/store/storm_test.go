package store_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// servers are the S3 servers that tests of faults use.
func servers(t *testing.T) map[string]store.Config {
	_, stand := storetest.Stand(t)
	return map[string]store.Config{"stand": stand}
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
				for _, match := range []func(*http.Request) bool{faults.Objects, faults.Parts} {
					proxy.Do(faults.First(2, kind, match))
					comesBack(t, s, 100_000)
					comesBack(t, s, 12<<20)
				}
			})
		}
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
