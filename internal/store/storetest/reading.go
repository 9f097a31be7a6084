package storetest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
)

// What is read in many steps, in one request and in parts.
var lengths = map[string]int{"one": 1 << 20, "parts": 70 << 20}

func random(length int) []byte {
	body := make([]byte, length)
	rand.NewChaCha8([32]byte{1}).Read(body)
	return body
}

// readOnce has each byte of a source read once, and asked then, before the object is there, whether it is still the same.
func readOnce(t *testing.T, s store.Store) {
	for name, length := range lengths {
		source := &Source{Body: random(length)}
		put(t, s, name, []byte("former"), nil)
		asked := 0
		same := func() error {
			asked++
			if at, _ := source.Read(); at != int64(length) {
				t.Errorf("%s: asked after %d of %d bytes", name, at, length)
			}
			if o, err := s.Head(t.Context(), name); err != nil || o.SizeBytes != int64(len("former")) {
				t.Errorf("%s: when it is asked, the object is %+v, %v", name, o, err)
			}
			return nil
		}
		made, err := s.Put(t.Context(), store.Upload{Key: name, Body: source, SizeBytes: int64(length), Same: same})
		if err != nil {
			t.Fatal(err)
		}
		if at, once := source.Read(); !once || at != int64(length) || asked != 1 {
			t.Errorf("%s: %d of %d bytes were read, once each: %v; asked %d times", name, at, length, once, asked)
		}
		sums, err := store.Sum(bytes.NewReader(source.Body), int64(length))
		if err != nil || made.SHA256 != sums.SHA256 || made.CRC64NVME != sums.CRC64NVME {
			t.Errorf("%s: put describes it as %+v, not %+v, %v", name, made, sums, err)
		}
	}
}

// changingSource has a source grow, shrink and change while it is read: nothing is stored.
func changingSource(t *testing.T, s store.Store) {
	for name, length := range lengths {
		former := put(t, s, name, []byte("former"), nil)
		body := random(length)
		for how, c := range map[string]struct {
			change func(b []byte) []byte
			want   error
		}{
			"grows":    {func(b []byte) []byte { return append(b, 'x') }, errAnother},
			"shrinks":  {func(b []byte) []byte { return b[:length/2] }, io.ErrUnexpectedEOF},
			"in_place": {func(b []byte) []byte { b[0] ^= 1; return b }, errAnother},
		} {
			source := &Source{Body: body, At: int64(length / 2)}
			changed := false
			source.Then = func() error {
				source.Body, changed = c.change(source.Body), true
				return nil
			}
			same := func() error {
				if changed {
					return errAnother
				}
				return nil
			}
			_, err := s.Put(t.Context(), store.Upload{Key: name, Body: source, SizeBytes: int64(length), Same: same})
			if !errors.Is(err, c.want) && !errors.Is(err, errAnother) { // who reads all at once is not disturbed, and asks
				t.Errorf("%s that %s got %v, want %v", name, how, err, c.want)
			}
			wantFormer(t, s, former)
		}
	}
}

var errAnother = errors.New("it is another one")

// unreadableSource has the read of a source fail midway.
func unreadableSource(t *testing.T, s store.Store) {
	for name, length := range lengths {
		former := put(t, s, name, []byte("former"), nil)
		why := errors.New("a bad sector")
		source := &Source{Body: random(length), At: int64(length / 2), Then: func() error { return why }}
		_, err := s.Put(t.Context(), store.Upload{Key: name, Body: source, SizeBytes: int64(length)})
		if !errors.Is(err, why) {
			t.Errorf("%s got %v, want %v", name, err, why)
		}
		wantFormer(t, s, former)
	}
}

func wantFormer(t *testing.T, s store.Store, former store.Object) {
	t.Helper()
	if got, o := content(t, s, former.Key); string(got) != "former" || o.Version != former.Version {
		t.Errorf("%s is another object now: %+v", former.Key, o)
	}
}
