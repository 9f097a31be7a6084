package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

// Run holds a store against its contract. The bucket that open returns exists and is empty.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"put_comes_back", putComesBack},
		{"put_replaces", putReplaces},
		{"odd_keys", oddKeys},
		{"large_object", largeObject},
		{"wrong_sums_store_nothing", wrongSums},
		{"short_source_stores_nothing", shortSource},
		{"read_once", readOnce},
		{"changing_source_stores_nothing", changingSource},
		{"unreadable_source_stores_nothing", unreadableSource},
		{"ranges", ranges},
		{"put_if", putIf},
		{"cut_uploads_go_on", cutUploads},
		{"too_large", tooLarge},
		{"absent_key", absentKey},
		{"delete_if", deleteIf},
		{"list_is_sorted_and_whole", listSorted},
		{"make_bucket_twice", makeBucketTwice},
		{"cancelled", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func put(t *testing.T, s store.Store, key string, body []byte, meta map[string]string) store.Object {
	t.Helper()
	o, err := s.Put(t.Context(), store.Upload{Key: key, Body: bytes.NewReader(body), SizeBytes: int64(len(body)), Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func content(t *testing.T, s store.Store, key string) ([]byte, store.Object) {
	t.Helper()
	r, o, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body, o
}

func list(t *testing.T, s store.Store, prefix string) []string {
	t.Helper()
	keys := []string{}
	for o, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

func putComesBack(t *testing.T, s store.Store) {
	for name, body := range map[string][]byte{"full": []byte("some content"), "empty": {}} {
		meta := map[string]string{"file-mtime": "17ns", "owner": "a b"}
		made := put(t, s, "dir/"+name, body, meta)
		sums, err := store.Sum(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		got, o := content(t, s, "dir/"+name)
		if !bytes.Equal(got, body) {
			t.Errorf("%s: got %q, want %q", name, got, body)
		}
		head, err := s.Head(t.Context(), "dir/"+name)
		if err != nil {
			t.Fatal(err)
		}
		for o, err := range s.List(t.Context(), "dir/"+name) {
			if err != nil || o.Version != made.Version || o.SizeBytes != int64(len(body)) || o.Modified.IsZero() {
				t.Errorf("list of %s describes it as %+v, %v", name, o, err)
			}
		}
		for deed, o := range map[string]store.Object{"get": o, "head": head, "put": made} {
			if o.SizeBytes != int64(len(body)) || o.SHA256 != sums.SHA256 || o.CRC64NVME != sums.CRC64NVME || !maps.Equal(o.Meta, meta) || o.Modified.IsZero() || o.Version != made.Version {
				t.Errorf("%s of %s describes it as %+v", deed, name, o)
			}
		}
	}
}

func putReplaces(t *testing.T, s store.Store) {
	first := put(t, s, "a", []byte("first, and longer"), map[string]string{"one": "1"})
	second := put(t, s, "a", []byte("second"), nil)
	got, o := content(t, s, "a")
	if string(got) != "second" || len(o.Meta) != 0 || first.Version == second.Version {
		t.Errorf("got %q with %v, versions %q and %q", got, o.Meta, first.Version, second.Version)
	}
}

func oddKeys(t *testing.T, s store.Store) {
	keys := []string{"a b", "a+b", "a%20b", "ä/ö", "x=1&y=2", "q?w#e", "'quoted'", "dir/.hidden", "tilde~", "(1)*!", "back\\slash",
		"ctrl\x01x", "line\nbreak", "return\rx", "tab\tx", "delete\x7fx", "e\u0301", "\ufffd", "\U0001f600", "<&>\"", "a%01b"}
	for _, key := range keys {
		put(t, s, key, []byte(key), nil)
	}
	for _, key := range keys {
		if got, _ := content(t, s, key); string(got) != key {
			t.Errorf("%q holds %q", key, got)
		}
	}
	slices.Sort(keys)
	if got := list(t, s, ""); !slices.Equal(got, keys) {
		t.Errorf("list is %q, want %q", got, keys)
	}
}

// largeObject is larger than one request may be.
func largeObject(t *testing.T, s store.Store) {
	body := random(70 << 20)
	made := put(t, s, "large", body, map[string]string{"file-mtime": "5ns"})
	got, o := content(t, s, "large")
	if !bytes.Equal(got, body) || o.Meta["file-mtime"] != "5ns" || made.SHA256 == "" || o.CRC64NVME != made.CRC64NVME {
		t.Errorf("%d of %d bytes came back, put as %+v, described as %+v", len(got), len(body), made, o)
	}
	sums := store.Sums{SHA256: made.SHA256, CRC64NVME: made.CRC64NVME}
	for name, u := range map[string]store.Upload{"known": {Sums: sums}, "known in part": {Sums: store.Sums{CRC64NVME: sums.CRC64NVME}}, "unknown": {}} {
		u.Key, u.Body, u.SizeBytes = "large", bytes.NewReader(body), int64(len(body))
		if _, err := s.Put(t.Context(), u); err != nil {
			t.Error(err)
		}
		var err error
		if o, err = s.Head(t.Context(), "large"); err != nil || o.CRC64NVME != sums.CRC64NVME || o.SHA256 != sums.SHA256 && (o.SHA256 != "" || u.Sums == sums) {
			t.Errorf("with sums that are %s it is described as %+v, %v", name, o, err)
		}
	}
	wrong, err := store.Sum(bytes.NewReader(body[1:]), int64(len(body)-1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), store.Upload{Key: "large", Body: bytes.NewReader(body), SizeBytes: int64(len(body)), Sums: wrong})
	if !errors.Is(err, store.ErrChecksum) {
		t.Errorf("wrong sums got %v, want ErrChecksum", err)
	}
	if again, err := s.Head(t.Context(), "large"); err != nil || again.Version != o.Version {
		t.Error("a refused upload changed the object")
	}
}

func wrongSums(t *testing.T, s store.Store) {
	sums, err := store.Sum(strings.NewReader("other"), 5)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), store.Upload{Key: "a", Body: strings.NewReader("these"), SizeBytes: 5, Sums: sums})
	if !errors.Is(err, store.ErrChecksum) || !strings.Contains(err.Error(), "put object a") {
		t.Errorf("got %v, want ErrChecksum that names the object", err)
	}
	if keys := list(t, s, ""); len(keys) != 0 {
		t.Errorf("%q were stored", keys)
	}
}

func shortSource(t *testing.T, s store.Store) {
	_, err := s.Put(t.Context(), store.Upload{Key: "a", Body: strings.NewReader("abc"), SizeBytes: 4})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want an unexpected end", err)
	}
	if keys := list(t, s, ""); len(keys) != 0 {
		t.Errorf("%q were stored", keys)
	}
}

func absentKey(t *testing.T, s store.Store) {
	if _, err := s.Head(t.Context(), "no"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head got %v, want ErrNotFound", err)
	}
	if _, _, err := s.Get(t.Context(), "no"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get got %v, want ErrNotFound", err)
	}
	if err := s.Delete(t.Context(), "no"); err != nil {
		t.Errorf("delete got %v", err)
	}
	put(t, s, "yes", []byte("x"), nil)
	for range 2 {
		if err := s.Delete(t.Context(), "yes"); err != nil {
			t.Errorf("delete got %v", err)
		}
	}
	if keys := list(t, s, ""); len(keys) != 0 {
		t.Errorf("%q are left", keys)
	}
}

func deleteIf(t *testing.T, s store.Store) {
	old := put(t, s, "key", []byte("x"), nil)
	now := put(t, s, "key", []byte("yy"), nil)
	if err := s.DeleteIf(t.Context(), "key", old.Version); !errors.Is(err, store.ErrChanged) {
		t.Errorf("another one: got %v", err)
	}
	if keys := list(t, s, ""); len(keys) != 1 {
		t.Errorf("%q are left of one that is another one", keys)
	}
	for range 2 {
		if err := s.DeleteIf(t.Context(), "key", now.Version); err != nil {
			t.Errorf("got %v", err)
		}
	}
	if keys := list(t, s, ""); len(keys) != 0 {
		t.Errorf("%q are left", keys)
	}
}

// listSorted needs more than one page of the S3 protocol, each ending with a key that XML cannot carry, and keys whose order differs from a directory walk's.
func listSorted(t *testing.T, s store.Store) {
	want := []string{"p/a-b", "p/a/b", "p/a0"}
	for i := range 1010 {
		want = append(want, fmt.Sprintf("p/n/%04d\x01", i))
	}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for _, key := range append([]string{"other", "p", "q/x"}, want...) {
		group.Go(func() error {
			_, err := s.Put(ctx, store.Upload{Key: key + ".o", Body: strings.NewReader(key), SizeBytes: int64(len(key))})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] += ".o"
	}
	slices.Sort(want)
	if got := list(t, s, "p/"); !slices.Equal(got, want) {
		t.Errorf("%d keys are listed, want %d in order", len(got), len(want))
	}
	if got := list(t, s, "nothing/"); len(got) != 0 {
		t.Errorf("an empty prefix lists %q", got)
	}
	for range s.List(t.Context(), "p/") {
		break
	}
}

func makeBucketTwice(t *testing.T, s store.Store) {
	for range 2 {
		if err := s.MakeBucket(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func cancelled(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, store.Upload{Key: "a", Body: strings.NewReader("x"), SizeBytes: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("put got %v, want a cancellation", err)
	}
	for _, err := range s.List(ctx, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("list got %v, want a cancellation", err)
		}
	}
	if keys := list(t, s, ""); len(keys) != 0 {
		t.Errorf("%q were stored", keys)
	}
}
