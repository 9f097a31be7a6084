package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3response"
)

// disk records what was written to it.
type disk struct {
	mu      sync.Mutex // guards written
	written []string
	err     error
}

func (d *disk) write(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := syncPath(path); err != nil {
		return err
	}
	d.written = append(d.written, path)
	return d.err
}

// durableIn is a backend with one bucket, data, that writes to a disk.
func durableIn(t *testing.T, d *disk) durable {
	t.Helper()
	root := t.TempDir()
	t.Chdir(root) // the backend does so, too
	attrs, err := attributes(root)
	if err != nil {
		t.Fatal(err)
	}
	be, err := posix.New(root, attrs, posix.PosixOpts{ForceNoObjLockFile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(be.Shutdown)
	if err := os.Mkdir(filepath.Join(root, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	return newDurable(be, attrs, root, d.write)
}

func (d durable) putText(ctx context.Context, key, text string) error {
	_, err := d.PutObject(ctx, s3response.PutObjectInput{Bucket: aws.String("data"), Key: &key,
		Body: strings.NewReader(text), ContentLength: aws.Int64(int64(len(text)))})
	return err
}

// TestAnswersFollowTheDisk asks what was written when an answer came: the object, under its name, then all directories
// that lead to it.
func TestAnswersFollowTheDisk(t *testing.T) {
	bucket, key := aws.String("data"), aws.String("x/y/a")
	for name, store := range map[string]func(*testing.T, durable) error{
		"put": func(t *testing.T, d durable) error { return d.putText(t.Context(), *key, "hello") },
		"copy": func(t *testing.T, d durable) error {
			_, err := d.Posix.PutObject(t.Context(), s3response.PutObjectInput{Bucket: bucket, Key: aws.String("b"), Body: strings.NewReader("")})
			if err != nil {
				return err
			}
			_, err = d.CopyObject(t.Context(), s3response.CopyObjectInput{Bucket: bucket, Key: key, CopySource: aws.String("data/b"), ExpectedBucketOwner: aws.String("")})
			return err
		},
		"parts": func(t *testing.T, d durable) error {
			up, err := d.CreateMultipartUpload(t.Context(), s3response.CreateMultipartUploadInput{Bucket: bucket, Key: key})
			if err != nil {
				return err
			}
			part, err := d.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: bucket, Key: key, UploadId: &up.UploadId,
				PartNumber: aws.Int32(1), Body: strings.NewReader("hello"), ContentLength: aws.Int64(5)})
			if err != nil {
				return err
			}
			_, _, err = d.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: &up.UploadId,
				MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{PartNumber: aws.Int32(1), ETag: part.ETag}}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var on disk
			d := durableIn(t, &on)
			if err := store(t, d); err != nil {
				t.Fatal(err)
			}
			want := []string{"data/x/y/a", "data/x/y", "data/x", "data", "."}
			for i, path := range want {
				want[i] = filepath.Join(d.root, path)
			}
			if !slices.Equal(on.written, want) {
				t.Errorf("it wrote %q, want %q", on.written, want)
			}
		})
	}
}

// TestDiskRefuses has the disk fail: so does the answer.
func TestDiskRefuses(t *testing.T) {
	on := disk{err: errors.New("no more")}
	if err := durableIn(t, &on).putText(t.Context(), "a", "hello"); !errors.Is(err, on.err) {
		t.Errorf("the answer is %v", err)
	}
}

// TestRemovedMeanwhile: what another client has removed is nobody's loss.
func TestRemovedMeanwhile(t *testing.T) {
	var on disk
	d := durableIn(t, &on)
	if err := d.sync("data", "gone/a"); err != nil || len(on.written) != 0 {
		t.Errorf("got %v, wrote %q", err, on.written)
	}
}

// TestTurns lets many come while a deed is under way: they share the next one, and none the one that began before him.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 5
		var begun, done atomic.Int32
		goOn := make(chan error)
		all := turns{last: map[string]*turn{}, deed: func(string) error {
			begun.Add(1)
			return <-goOn
		}}
		var wg sync.WaitGroup
		errs := make(chan error, many+1)
		take := func() { errs <- all.take("dir"); done.Add(1) }
		wg.Go(take)
		synctest.Wait()
		for range many {
			wg.Go(take)
			synctest.Wait()
		}
		if begun.Load() != 1 || done.Load() != 0 {
			t.Fatalf("%d deeds began, %d answers came, want 1 and none", begun.Load(), done.Load())
		}
		goOn <- nil
		synctest.Wait()
		if begun.Load() != 2 || done.Load() != 1 {
			t.Fatalf("%d deeds began, %d answers came, want 2 and 1", begun.Load(), done.Load())
		}
		bad := errors.New("no more")
		goOn <- bad
		wg.Wait()
		if err := <-errs; err != nil {
			t.Errorf("the first got %v", err)
		}
		for range many {
			if err := <-errs; !errors.Is(err, bad) {
				t.Errorf("who shared the second got %v", err)
			}
		}
		if begun.Load() != 2 || len(all.last) != 0 {
			t.Errorf("%d deeds began and %d are kept", begun.Load(), len(all.last))
		}
	})
}
