// Command upload puts all files of a directory into a bucket with muster's own store, many at a time. It prints the seconds, the
// seconds of CPU and the MB of memory that it took.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

func main() {
	c := store.Config{Region: "us-east-1"}
	flag.StringVar(&c.Endpoint, "endpoint", "", "where the S3 server is")
	flag.StringVar(&c.CredentialsFile, "credentials", "", "a file of AWS credentials")
	flag.StringVar(&c.Bucket, "bucket", "", "the bucket, which is made")
	atOnce := flag.Int("at-once", 4, "how many files are put at a time")
	flag.Parse()
	if err := measure(context.Background(), c, flag.Arg(0), *atOnce); err != nil {
		fmt.Fprintln(os.Stderr, "upload:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, c store.Config, dir string, atOnce int) error {
	s, err := store.Open(ctx, c)
	if err != nil {
		return err
	}
	if err := s.MakeBucket(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := putAll(ctx, s, dir, atOnce); err != nil {
		return err
	}
	took := time.Since(began)
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	fmt.Printf("%.3f\n%.3f\n%.1f\n", took.Seconds(), cpu.Seconds(), float64(used.Maxrss)*1024/1e6)
	return nil
}

func putAll(ctx context.Context, s *store.S3, dir string, atOnce int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		group.Go(func() error { return put(ctx, s, dir, path) })
		return ctx.Err()
	})
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

func put(ctx context.Context, s *store.S3, dir, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	key, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	_, err = s.Put(ctx, store.Upload{Key: key, Body: f, SizeBytes: info.Size()})
	return err
}
