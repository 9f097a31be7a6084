package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
)

// randomKey has few names, which sort otherwise as names than as beginnings of keys.
func randomKey(r *rand.Rand) string {
	names := []string{"a", "b", "a-b", "a!", "ä", "x y", "a&<>", "zz"}
	key := ""
	for range r.IntN(3) {
		key += names[r.IntN(len(names))] + "/"
	}
	return key + fmt.Sprintf("%s%d", names[r.IntN(len(names))], r.IntN(30))
}

// older makes all directories look as if nothing had changed for long, each time at another moment.
func older(t *testing.T, root string, turn int) {
	t.Helper()
	at := time.Now().Add(time.Duration(turn-1000) * time.Minute)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pages lists all pages.
func pages(t *testing.T, c *s3.Client, prefix, after string, most int32) (keys []string) {
	t.Helper()
	p := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: aws.String("data"), Prefix: &prefix, StartAfter: &after, MaxKeys: &most})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Contents) > int(most) || aws.ToBool(page.IsTruncated) && len(page.Contents) < int(most) {
			t.Errorf("a page of %d has %d", most, len(page.Contents))
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	return keys
}

// TestLists lists by pages from anywhere, while objects come and go. What is known of directories is never what was.
func TestLists(t *testing.T) {
	root := t.TempDir()
	c := start(t, root, "--bucket", "data").client()
	r := rand.New(rand.NewPCG(1, 2))
	there := map[string]bool{}
	for turn := range 60 {
		for range 6 {
			key := randomKey(r)
			if r.IntN(8) == 0 {
				key += "/"
			}
			if _, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("data"), Key: &key, Body: strings.NewReader("")}); err == nil {
				there[key] = true
			}
		}
		for key := range there {
			if r.IntN(12) > 0 {
				continue
			}
			if _, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("data"), Key: &key}); err == nil {
				delete(there, key)
			}
		}
		if turn%2 == 0 {
			older(t, root, turn)
		}
		prefixes := []string{"", "", "a", "a/", "a/a", "nothing/", "a//", "../", "zz/b"}
		for range 4 {
			prefix, after := prefixes[r.IntN(len(prefixes))], []string{"", randomKey(r), "a/", "a-b/"}[r.IntN(4)]
			var want []string
			for key := range there {
				if strings.HasPrefix(key, prefix) && key > after {
					want = append(want, key)
				}
			}
			slices.Sort(want)
			if got := pages(t, c, prefix, after, 1+r.Int32N(9)); !slices.Equal(got, want) {
				t.Fatalf("list of %q after %q:\n%q, want\n%q", prefix, after, got, want)
			}
		}
	}
}

// TestListsSayTheSame has a list of the library beside ours.
func TestListsSayTheSame(t *testing.T) {
	root := t.TempDir()
	c := start(t, root, "--bucket", "data").client()
	put(t, c, "a/b", "1")
	put(t, c, "a/", "")
	put(t, c, "c", "123")
	if err := os.WriteFile(filepath.Join(root, "data/a/by hand"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []bool{false, true} {
		ours, err := c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("data"), FetchOwner: &owner})
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := c.ListObjects(t.Context(), &s3.ListObjectsInput{Bucket: aws.String("data")})
		if err != nil {
			t.Fatal(err)
		}
		for i := range ours.Contents {
			if owned := ours.Contents[i].Owner; (owned != nil) != owner {
				t.Errorf("the owner is %v", owned)
			}
			ours.Contents[i].Owner, theirs.Contents[i].Owner = nil, nil
		}
		if !reflect.DeepEqual(ours.Contents, theirs.Contents) {
			t.Errorf("got %v, want %v", ours.Contents, theirs.Contents)
		}
	}
}

// TestListOfVeryMany lists a directory of more names than are remembered, from anywhere.
func TestListOfVeryMany(t *testing.T) {
	root := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	var all []string
	for i := range 300 {
		key := fmt.Sprintf("%03d", i)
		if i%7 == 0 {
			key += "/x"
		}
		all = append(all, key)
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(key)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, key), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	older(t, root, 0)
	known := &folders{most: 20}
	for range 400 {
		p := page{ctx: t.Context(), folders: known, root: root, most: 1 + r.IntN(100), after: all[r.IntN(len(all))][:1+r.IntN(3)]}
		p.object = func(key string, e fs.DirEntry) (o s3response.Object, err error) {
			if o.Key = &key; e.IsDir() {
				err = backend.ErrSkipObj
			}
			return o, err
		}
		if err := p.all(""); err != nil && err != errFull {
			t.Fatal(err)
		}
		var got, want []string
		for _, o := range p.found {
			got = append(got, *o.Key)
		}
		for _, key := range all {
			if key > p.after && len(want) <= p.most {
				want = append(want, key)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after %s:\n%q, want\n%q", p.after, got, want)
		}
		if known.names > 5*known.most+2*namesAtOnce {
			t.Fatalf("%d names are remembered", known.names)
		}
	}
}
