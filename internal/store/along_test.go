package store_test

import (
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// shelf is a server of the list of one bucket.
type shelf struct {
	most    int  // keys in a page
	ignores bool // start-after, as some servers do

	mu    sync.Mutex // guards the rest
	keys  []string
	asked int
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	q := r.URL.Query()
	after := q.Get("start-after")
	if s.ignores {
		after = ""
	}
	after = max(after, q.Get("continuation-token"))
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<ListBucketResult><EncodingType>url</EncodingType>")
	n, last := 0, ""
	for _, key := range s.keys {
		if key <= after || !strings.HasPrefix(key, q.Get("prefix")) {
			continue
		}
		if n++; n > s.most {
			fmt.Fprintf(&b, "<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>", html.EscapeString(last))
			break
		}
		fmt.Fprintf(&b, entry, url.QueryEscape(key), n, n)
		last = key
	}
	b.WriteString("</ListBucketResult>")
	w.Write([]byte(b.String()))
}

func (s *shelf) open(t *testing.T) *store.S3 {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("[default]\naws_access_key_id = A\naws_secret_access_key = B\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := store.Open(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Bucket: "b", CredentialsFile: keys, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// guessing has all guesses ready.
func guessing(keys ...string) <-chan string {
	guesses := make(chan string, len(keys))
	for _, key := range keys {
		guesses <- key
	}
	return guesses
}

func along(t *testing.T, b *store.S3, prefix string, guesses <-chan string) (keys []string) {
	t.Helper()
	for o, err := range b.ListAlong(t.Context(), prefix, guesses) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// some are so many random keys in order.
func some(r *rand.Rand, most int) (keys []string) {
	for range r.IntN(most) {
		keys = append(keys, []string{"p/", "p/a/", "p&/", "q/ä "}[r.IntN(4)]+strconv.Itoa(r.IntN(300)))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// TestListAlongIsList has buckets and guesses of all kinds: keys that are there, were there or never were, in any number
// and any order.
func TestListAlongIsList(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	s := &shelf{}
	b := s.open(t)
	for range 400 {
		s.mu.Lock()
		s.keys, s.most, s.ignores = some(r, 400), 1+r.IntN(60), r.IntN(4) == 0
		s.mu.Unlock()
		guesses := some(r, 60)
		if r.IntN(4) == 0 {
			r.Shuffle(len(guesses), func(i, j int) { guesses[i], guesses[j] = guesses[j], guesses[i] })
		}
		prefix := []string{"", "p/", "p/a", "none"}[r.IntN(4)]
		want := slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool { return !strings.HasPrefix(key, prefix) })
		if got := along(t, b, prefix, guessing(guesses...)); !slices.Equal(got, want) {
			t.Fatalf("pages of %d of %q by %q:\n%q, want\n%q", s.most, prefix, guesses, got, want)
		}
	}
}

// TestListAlongAsksForFew counts requests: guesses that do not fit the bucket cost few.
func TestListAlongAsksForFew(t *testing.T) {
	for name, c := range map[string]struct{ first, every, guessEvery, most int }{
		"as_guessed":      {0, 1, 1000, 42},
		"half_is_there":   {0, 2, 1000, 21 + 12},
		"few_are_there":   {0, 40, 1000, 2 + 10},
		"guesses_of_each": {0, 1, 1, 41 + 40},
		"nothing_guessed": {0, 1, 1 << 20, 41},
		"first_is_last":   {39900, 1, 1000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{most: 1000}
			var guesses []string
			for i := range 40_000 {
				key := fmt.Sprintf("p/%06d", i)
				if i >= c.first && i%c.every == 0 {
					s.keys = append(s.keys, key)
				}
				if (i+1)%c.guessEvery == 0 {
					guesses = append(guesses, key)
				}
			}
			b := s.open(t)
			if got := along(t, b, "p/", guessing(guesses...)); !slices.Equal(got, s.keys) {
				t.Errorf("%d keys, want %d", len(got), len(s.keys))
			}
			if s.asked > c.most {
				t.Errorf("asked %d times", s.asked)
			}
		})
	}
}

// TestListAlongEnds has a reader who has enough, and a place that fails.
func TestListAlongEnds(t *testing.T) {
	s := &shelf{most: 10}
	for i := range 200 {
		s.keys = append(s.keys, fmt.Sprintf("%03d", i))
	}
	b := s.open(t)
	for o, err := range b.ListAlong(t.Context(), "", guessing(s.keys...)) {
		if err != nil {
			t.Fatal(err)
		}
		if o.Key == "055" {
			break
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("[default]\naws_access_key_id = A\naws_secret_access_key = B\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := store.Open(t.Context(), store.Config{Endpoint: server.URL, Region: "us-east-1", Bucket: "b", CredentialsFile: keys, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range b.ListAlong(t.Context(), "", guessing("a")) {
		if n++; err == nil {
			t.Error("no error")
		}
	}
	if n != 1 {
		t.Errorf("%d answers", n)
	}
}

// TestListAlongOfTheStand lists a bucket of the real server, whose directories sort otherwise than keys.
func TestListAlongOfTheStand(t *testing.T) {
	root, c := storetest.Stand(t)
	c.Bucket = "many"
	b, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.MakeBucket(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 3500 {
		key := fmt.Sprintf("p/%s/%04d", []string{"a", "a-b", "a!", "ä"}[i%4], i)
		want = append(want, key)
		path := filepath.Join(root, "many", key)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	for range 10 {
		var guesses []string
		for range rand.IntN(8) {
			guesses = append(guesses, want[rand.IntN(len(want))]+[]string{"", "x"}[rand.IntN(2)])
		}
		slices.Sort(guesses)
		if got := along(t, b, "p/", guessing(guesses...)); !slices.Equal(got, want) {
			t.Fatalf("by %q: %d keys, want %d", guesses, len(got), len(want))
		}
	}
}
