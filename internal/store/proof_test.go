package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// TestWhatIsStoredIsProven has places that hear no checksum, and such as say none either, store one bit that is another one. No
// upload ends well then; and where no bit is another one, all do.
func TestWhatIsStoredIsProven(t *testing.T) {
	for name, config := range servers(t) {
		for deaf, says := range map[faults.Deafness]string{faults.HearsNone: "hears none", faults.SaysNone: "says none"} {
			t.Run(name+"/"+says, func(t *testing.T) {
				for _, size := range []int{1000, 1 << 20, 5<<20 + 1} { // the short way, the SDK's, and in parts
					proxy, config := faults.New(t, config)
					s := patient(t, config)
					proxy.Deafen(deaf)
					for n := range 2 { // the first, after which a place is known, and others
						puts(t, s, fmt.Sprintf("well %d", n), size, nil)
						proxy.Do(flips())
						puts(t, s, fmt.Sprintf("flipped %d", n), size, store.ErrChecksum)
						proxy.Do(nil)
					}
					fresh := patient(t, config)
					proxy.Do(flips())
					puts(t, fresh, "flipped first", size, store.ErrChecksum)
				}
			})
		}
	}
}

// flips has one bit of the first request with content be another one.
func flips() faults.Plan {
	return faults.First(1, faults.FlipRequest, func(r *http.Request) bool { return r.Method == http.MethodPut })
}

// puts puts an object, and holds that it does or does not work. What is proven comes back.
func puts(t *testing.T, s *store.S3, key string, size int, want error) {
	t.Helper()
	body := content(size)
	_, err := s.Put(t.Context(), store.Upload{Key: key, Body: bytes.NewReader(body), SizeBytes: int64(size)})
	if want != nil {
		if !errors.Is(err, want) && !errors.Is(err, store.ErrIgnored) {
			t.Errorf("%s, %d bytes: got %v", key, size, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s, %d bytes: %v", key, size, err)
	}
	r, _, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%s: other bytes came back, %v", key, err)
	}
}

// TestWhatNobodyProves: a place that keeps no checksum, and whose ETag is no MD5.
func TestWhatNobodyProves(t *testing.T) {
	asked := 0
	s := faulty(t, 0, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if asked++; r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "1")
		}
		w.Header().Set("ETag", `"e"`)
	})
	for range 3 {
		_, err := s.Put(t.Context(), store.Upload{Key: "key", Body: strings.NewReader("x"), SizeBytes: 1})
		if !errors.Is(err, store.ErrIgnored) || !strings.Contains(err.Error(), "keeps no checksum") {
			t.Errorf("got %v", err)
		}
	}
	if asked != 4 {
		t.Errorf("asked %d times: the object of the first upload is to be looked at, no other", asked)
	}
}
