package data_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
	"github.com/muster-hpc/muster/internal/store/storetest/faults"
)

// real opens a bucket of a server for tests, which endures what passes.
func real(t *testing.T, c store.Config) *store.S3 {
	t.Helper()
	c.Bucket, c.Patience, c.Idle = "bucket", time.Hour, 5*time.Second
	s, err := store.Open(t.Context(), c)
	fine(t, err, s.MakeBucket(t.Context()))
	return s
}

// mixed is a stock with small files, and one that goes in parts.
func mixed() stock {
	files := stock{"large": random(99, 65*mebi)}
	for i := range 40 {
		files[fmt.Sprintf("dir%d/file%d", i%4, i)] = random(uint64(i), 1+i*i*100)
	}
	return files
}

func TestPullSurvivesStorms(t *testing.T) {
	_, config := storetest.Stand(t)
	files := mixed()
	files.put(t, real(t, config), "set")
	proxy, config := faults.New(t, config)
	bucket := real(t, config)
	for _, kind := range []faults.Kind{faults.Error500, faults.SlowDown, faults.ResetAnswer, faults.CutAnswer, faults.BrokenAnswer, faults.FlipAnswer, faults.HangAnswer} {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			proxy.Do(faults.First(4, kind, faults.Objects))
			if got := pulled(t, bucket, "set", dir); got.Problems.All != 0 {
				t.Errorf("got %+v", got)
			}
			files.is(t, dir)
		})
	}
	t.Run("all at once", func(t *testing.T) {
		dir := t.TempDir()
		proxy.Do(faults.Mixed(7, 0.1, faults.All...))
		v, got := data.Verify{Dataset: opened(t, bucket, "set")}, pulled(t, bucket, "set", dir)
		for _, verify := range []func(context.Context) (data.Verified, error){v.Heads, v.Full} {
			found, err := verify(t.Context())
			if fine(t, err); found.Files != int64(len(files)) || found.Problems.All != 0 {
				t.Errorf("verify: %+v", found)
			}
		}
		compared, err := (&data.Compare{Dir: dir, Bucket: bucket, Prefix: "set", Dataset: v.Dataset, Full: true}).Run(t.Context())
		if fine(t, err); got.Problems.All != 0 || !compared.Same() {
			t.Errorf("got %+v, %+v", got, compared)
		}
	})
}

func TestPullWaitsForAServerThatIsGone(t *testing.T) {
	_, config := storetest.Stand(t)
	files := mixed()
	files.put(t, real(t, config), "set")
	proxy, config := faults.New(t, config)
	back := make(chan struct{})
	var gone atomic.Bool
	config.Bell = func(error, time.Duration) {
		if gone.CompareAndSwap(true, false) {
			proxy.Back()
			close(back)
		}
	}
	bucket := real(t, config)
	d := opened(t, bucket, "set")
	proxy.Gone()
	gone.Store(true)
	dir := t.TempDir()
	got, err := (&data.Pull{Dataset: d, Dir: dir}).Run(t.Context())
	if fine(t, err); got.Problems.All != 0 {
		t.Errorf("got %+v", got)
	}
	<-back
	files.is(t, dir)
}

// TestPullFillsADisk needs the right to mount.
func TestPullFillsADisk(t *testing.T) {
	small := smallDisk(t)
	bucket, files := fake(), stock{"a": random(1, 1000), "large": random(2, 3*mebi), "larger\n": random(3, 9*mebi)}
	files.put(t, bucket, "p")
	for range 2 {
		_, err := (&data.Pull{Dataset: opened(t, bucket, "p"), Dir: small}).Run(t.Context())
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %v", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %v", err)
		}
	}
	entries, err := filepath.Glob(filepath.Join(small, "larger*"))
	if fine(t, err); len(entries) > 0 {
		t.Error("what is not whole has its name")
	}
	fine(t, widen(small))
	pulled(t, bucket, "p", small)
	files.is(t, small)
}

// broken is a place that gives no bytes.
type broken struct{ *storetest.Fake }

func (broken) Range(context.Context, string, int64, int64, string) (io.ReadCloser, error) {
	return nil, syscall.EIO
}

// TestPullKeepsErrorsOnOneLine is of names that have the end of a line in them.
func TestPullKeepsErrorsOnOneLine(t *testing.T) {
	bucket := fake()
	stock{"dir\n/a\nb": []byte("1")}.put(t, bucket, "p")
	_, err := (&data.Pull{Dataset: opened(t, broken{bucket}, "p"), Dir: t.TempDir()}).Run(t.Context())
	if err == nil || err.Error() != `pull dir\n/a\nb: input/output error` {
		t.Errorf("got %v", err)
	}
}

// smallDisk is a file system of 8 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	small := filepath.Join(t.TempDir(), "small")
	fine(t, os.Mkdir(small, 0o755))
	return smallDiskAt(t, small)
}

func smallDiskAt(t *testing.T, small string) string {
	t.Helper()
	if err := mountSmall(small); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("needs the right to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { fine(t, unmount(small)) })
	return small
}
