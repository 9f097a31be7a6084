package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/lustre"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// allExported is an lfs of whose files the bucket has all as they are.
func allExported(_ context.Context, args ...string) (stdout, stderr string, err error) {
	for _, p := range args[1:] {
		stdout += p + ": (0x00000009) exists archived\n"
	}
	return stdout, "", nil
}

// TestFSxProof goes from a directory and a bucket to what is said and how the command ends.
func TestFSxProof(t *testing.T) {
	bucket := &storetest.Fake{}
	dir := t.TempDir()
	write := func(path, text, object string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if object == "" {
			return
		}
		if _, err := bucket.Put(t.Context(), store.Upload{Key: "runs/" + path, Body: strings.NewReader(object), SizeBytes: int64(len(object))}); err != nil {
			t.Fatal(err)
		}
	}
	open := func(refused error) opener {
		return func(context.Context, int64) (*data.Compare, func(), error) {
			return &data.Compare{Dir: dir, Bucket: bucket, Prefix: "runs/"}, func() {}, refused
		}
	}
	check := func(refused error, text, ends string) {
		t.Helper()
		f := fsxAnswer{Path: "/fsx", Bucket: "b", Prefix: "runs/", Files: 1, Blind: notAsked}
		if err := f.prove(t.Context(), lustre.Client{Run: allExported}, dir, open(refused)); err != nil {
			t.Fatal(err)
		}
		answer := exportsAnswer{FSx: []fsxAnswer{f}}
		var out bytes.Buffer
		if err := answer.write(&out, time.Time{}); err != nil || out.String() != "/fsx -> s3://b/runs/  by FSx: 0 of 1 file waiting\n"+text {
			t.Errorf("it says %v\n%s\nwant\n%s", err, out.String(), text)
		}
		if got := fmt.Sprint(answer.exit(true)); got != ends {
			t.Errorf("it ends with %q, want %q", got, ends)
		}
	}
	write("a", "first", "first")
	check(nil, "  compared            1 file, 5 B: the same in both\n", "<nil>")
	if err := os.Symlink("a", filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	check(nil, "  compared            1 file, 5 B: the same in both; 1 not compared: links, and what else is no ordinary file\n", "exit code 3")
	check(errors.New("AccessDenied: no"), "  blind               "+notCompared+", or not to its end: AccessDenied: no\n", "exit code 3")
	check(&api.CredentialsError{Err: errors.New("none"), Hint: "x"},
		"  blind               "+notCompared+": there are no credentials; where only root has those of the head node (Imds/Secured), `sudo` finds them\n", "exit code 3")
	write("b", "first", "other")
	write("c", "first", "")
	check(nil, "  compared            1 file, 5 B: the same in both; 1 not compared: links, and what else is no ordinary file; 1 not in the bucket; 1 not as in the bucket\n",
		"not all of /fsx is in s3://b/runs/: "+filepath.Join(dir, "b")+": the file has other bytes than the object; so with 1 more")

	failed := fsxAnswer{Failed: 1, First: "x: never_archive"}
	if err := failed.prove(t.Context(), lustre.Client{}, dir, nil); err != nil || failed.Proof != nil || failed.Blind != notCompared+": not all is exported" {
		t.Errorf("of what is not exported it says %+v, %v", failed, err)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if err := (&fsxAnswer{}).prove(gone, lustre.Client{Run: allExported}, dir, open(nil)); err != stopped {
		t.Errorf("when it is stopped it ends with %v", err)
	}
}

// TestFSxBucket holds a directory against a real server, which the environment leads to.
func TestFSxBucket(t *testing.T) {
	_, server := storetest.Stand(t)
	outside(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.Endpoint)
	t.Setenv("AWS_REGION", server.Region)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", server.CredentialsFile)
	server.Bucket = "results"
	bucket, err := store.Open(t.Context(), server)
	if err == nil {
		err = bucket.MakeBucket(t.Context())
	}
	dir := t.TempDir()
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "a"), []byte("first"), 0o644)); err != nil {
		t.Fatal(err)
	}
	link := spec.DataRepository{Dir: dir, Bucket: "results", Prefix: "runs/"}
	a := &app{quiet: true, err: io.Discard}
	for object, want := range map[string]lustre.Proof{
		"first": {Files: 1, Bytes: 5},
		"other": {Different: 1, Problems: []data.Problem{{Path: filepath.Join(dir, "a"), Why: "the file has other bytes than the object"}}},
	} {
		if _, err := bucket.Put(t.Context(), store.Upload{Key: "runs/a", Body: strings.NewReader(object), SizeBytes: 5}); err != nil {
			t.Fatal(err)
		}
		var f fsxAnswer
		if err := f.prove(t.Context(), lustre.Client{Run: allExported}, dir, a.fsxBucket(link)); err != nil || f.Proof == nil || f.Blind != "" {
			t.Fatalf("of %s: %v, %+v", object, err, f)
		}
		if diff := cmp.Diff(want, *f.Proof); diff != "" {
			t.Errorf("of %s (-want +got):\n%s", object, diff)
		}
	}
}
