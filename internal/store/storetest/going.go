package storetest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
)

func ranges(t *testing.T, s store.Store) {
	body := random(1 << 20)
	made := put(t, s, "a", body, nil)
	for name, c := range map[string]struct {
		from, size int64
		version    string
		want       error
	}{
		"first":         {0, 1, "", nil},
		"middle":        {1000, 300_000, made.Version, nil},
		"last":          {1<<20 - 1, 1, "", nil},
		"all":           {0, 1 << 20, made.Version, nil},
		"nothing":       {5, 0, "", nil},
		"over_the_end":  {1<<20 - 10, 11, "", io.ErrUnexpectedEOF},
		"all_and_more":  {0, 1<<20 + 1, "", io.ErrUnexpectedEOF},
		"after_the_end": {1 << 20, 1, "", io.ErrUnexpectedEOF},
	} {
		got, err := readRange(t, s, "a", c.from, c.size, c.version)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if err == nil && !bytes.Equal(got, body[c.from:c.from+c.size]) {
			t.Errorf("%s: %d other bytes came", name, len(got))
		}
	}
	for _, size := range []int64{0, 1} {
		if _, err := readRange(t, s, "no", 0, size, ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%d bytes of an absent key got %v", size, err)
		}
		if _, err := readRange(t, s, "a", 0, size, `"other"`); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%d bytes of another version got %v", size, err)
		}
	}
}

func readRange(t *testing.T, s store.Store, key string, from, size int64, version string) ([]byte, error) {
	r, err := s.Range(t.Context(), key, from, size, version)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// putIf replaces only what it knows, of contents that go as a whole and in parts.
func putIf(t *testing.T, s store.Store) {
	for name, length := range lengths {
		first := store.Upload{Key: name, Body: bytes.NewReader(random(length)), SizeBytes: int64(length)}
		if _, err := s.PutIf(t.Context(), first, `"version"`); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%s: without an object a version got %v", name, err)
		}
		made, err := s.PutIf(t.Context(), first, "")
		if err != nil {
			t.Fatal(err)
		}
		// Of other contents: a request that had to be sent again finds its own first try, if that is what is there.
		other := store.Upload{Key: name, Body: bytes.NewReader(make([]byte, length)), SizeBytes: int64(length)}
		if _, err := s.PutIf(t.Context(), other, ""); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%s: with an object no version got %v", name, err)
		}
		second := store.Upload{Key: name, Body: strings.NewReader("second"), SizeBytes: 6}
		next, err := s.PutIf(t.Context(), second, made.Version)
		if err != nil {
			t.Errorf("%s: the version that is there got %v", name, err)
		}
		if _, err := s.PutIf(t.Context(), first, made.Version); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%s: a former version got %v", name, err)
		}
		if got, o := content(t, s, name); string(got) != "second" || o.Version != next.Version {
			t.Errorf("%s: in the end it is %q, %+v", name, got, o)
		}
	}
}

// cutUploads has an upload in parts fail midway, and the next one go on with it.
func cutUploads(t *testing.T, s store.Store) {
	body, why := random(70<<20), errors.New("a bad sector")
	id := ""
	var sent, kept atomic.Int64
	u := store.Upload{Key: "a", SizeBytes: int64(len(body)), Body: &Source{Body: body, At: 66 << 20, Then: func() error { return why }},
		Begun: func(as string) error { id = as; return nil }}
	if _, err := s.Put(t.Context(), u); !errors.Is(err, why) || id == "" {
		t.Fatalf("got upload %q and %v", id, err)
	}
	source := &Source{Body: body}
	u.Resume, id, u.Body = id, "", source
	u.Sent, u.Kept = func(n int64) { sent.Add(n) }, func(n int64) { kept.Add(n) }
	o, err := s.Put(t.Context(), u)
	if err != nil || id != "" || sent.Load()+kept.Load() != u.SizeBytes {
		t.Errorf("%d bytes were sent and %d kept, upload %q, %v", sent.Load(), kept.Load(), id, err)
	}
	if at, once := source.Read(); at != u.SizeBytes || !once {
		t.Errorf("%d bytes were read, each once: %v", at, once)
	}
	if len(o.Parts) != 3 || o.PartBytes != 32<<20 || o.Parts[2] != crcOf(body[64<<20:]) {
		t.Errorf("its parts are %v of %d bytes", o.Parts, o.PartBytes)
	}
	if got, _ := content(t, s, "a"); !bytes.Equal(got, body) {
		t.Error("other bytes came back")
	}
	unknownUpload(t, s, u)
}

// unknownUpload goes on with an upload that is none any more: when it is in its place, and when something else is.
func unknownUpload(t *testing.T, s store.Store, u store.Upload) {
	again := ""
	u.Begun = func(as string) error { again = as; return nil }
	u.Sent, u.Kept = nil, nil
	for range 2 {
		if err := s.Abort(t.Context(), u.Key, u.Resume); err != nil {
			t.Errorf("abort what is unknown: %v", err)
		}
	}
	body := u.Body.(*Source).Body
	for what, there := range map[string][]byte{"other content": []byte("other"), "other metadata": body} {
		put(t, s, u.Key, there, map[string]string{"a": "b"})
		again, u.Body = "", &Source{Body: body}
		if o, err := s.Put(t.Context(), u); err != nil || again == "" || again == u.Resume || o.SizeBytes != u.SizeBytes {
			t.Errorf("%s: an unknown upload became %q, %+v, %v", what, again, o, err)
		}
	}
	refuse := errors.New("the journal's disk is full")
	u.Resume, u.Begun, u.Body = "", func(string) error { return refuse }, bytes.NewReader(body)
	if _, err := s.Put(t.Context(), u); !errors.Is(err, refuse) {
		t.Errorf("got %v, want what Begun says", err)
	}
}

// tooLarge is more than S3 keeps, and is refused before anything of it is read.
func tooLarge(t *testing.T, s store.Store) {
	source := &Source{}
	_, err := s.Put(t.Context(), store.Upload{Key: "a", Body: source, SizeBytes: 5<<40 + 1})
	if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "(5 TiB)") {
		t.Errorf("got %v", err)
	}
	if at, _ := source.Read(); at != 0 {
		t.Errorf("%d bytes of it were read", at)
	}
}
