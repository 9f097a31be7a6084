package restore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestRestores is the process that is killed: it says each read before it does it.
func TestRestores(t *testing.T) {
	if dir := os.Getenv("RESTORE_TO"); dir != "" {
		if err := restoring(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
}

func restoring(ctx context.Context, dir string) error {
	c := store.Config{Endpoint: os.Getenv("RESTORE_FROM"), CredentialsFile: os.Getenv("RESTORE_AS"), Region: "us-east-1", Bucket: "models"}
	s, err := store.Open(ctx, c)
	if err != nil {
		return err
	}
	v, err := restore.Look(ctx, &saying{Store: s}, "m", time.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	f, _, err := v.Choose(ctx, newest)
	if err != nil {
		return err
	}
	_, err = (&restore.Bring{View: v, Found: f, Dir: dir}).Run(ctx)
	return err
}

// saying is a store that says each read of an object.
type saying struct {
	store.Store
	mu sync.Mutex
}

func (s *saying) say(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Println(what)
}

func (s *saying) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	s.say("get " + key)
	return s.Store.Get(ctx, key)
}

func (s *saying) Range(ctx context.Context, key string, from, size int64, version string) (io.ReadCloser, error) {
	s.say("range " + key)
	return s.Store.Range(ctx, key, from, size, version)
}

// TestKill9 kills a restore from the real server with kill -9 at each of its reads, one after the other: nothing of the
// checkpoint has its name until all of it is there, its pointer comes after that, and in the end it is what was put.
func TestKill9(t *testing.T) {
	_, c := storetest.Stand(t)
	c.Bucket = "models"
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MakeBucket(t.Context()); err != nil {
		t.Fatal(err)
	}
	bucket, all := files{"m/latest": "ckpt-5"}, files{"latest": "ckpt-5"}
	for i := range 20 {
		all[fmt.Sprintf("ckpt-5/part-%02d", i)] = strings.Repeat(fmt.Sprintf("%02d", i), 50_000)
	}
	all["ckpt-5/large"] = strings.Repeat("0123456789abcdef", 5<<20)
	for p, text := range all {
		bucket["m/"+p] = text
	}
	put(t, s, bucket)
	dir := t.TempDir()
	for n := 1; storetest.Killed(t, n, "TestRestores", "RESTORE_TO="+dir, "RESTORE_FROM="+c.Endpoint, "RESTORE_AS="+c.CredentialsFile); n += 2 {
		wantWholeOrNone(t, dir, all)
	}
	want(t, dir, all)
}

// wantWholeOrNone holds that there is the checkpoint, or nothing that one could take for it.
func wantWholeOrNone(t *testing.T, dir string, all files) {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, "ckpt-5"))
	have := in(t, dir)
	maps.DeleteFunc(have, func(p, _ string) bool { return strings.HasPrefix(p, ".muster-") })
	switch {
	case errors.Is(err, os.ErrNotExist):
		if len(have) > 0 {
			t.Fatalf("there is %v", have)
		}
	case err != nil:
		t.Fatal(err)
	default:
		delete(have, "latest") // which comes after it
		rest := maps.Clone(all)
		delete(rest, "latest")
		if !maps.Equal(have, rest) {
			t.Fatal("it has its name, and is not whole")
		}
	}
}
