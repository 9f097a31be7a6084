// Package aws brings clusters on AWS up, changes them and takes them down, in named
// steps that may each be repeated: after a crash the same call goes on. The truth is
// what AWS says: stacks by their names and tags, and the objects in the cluster's
// bucket. What lies on the user's machine only says where to look.
package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/store"
)

// Tags of stacks and resources.
const clusterTag = api.ClusterTag

// Names of a cluster's stacks.
func baseStack(name string) string    { return name + "-base" }
func storageStack(name string) string { return name + "-storage" }

// stackNames are in the order in which stacks are made.
func stackNames(name string) []string { return []string{baseStack(name), storageStack(name), name} }

// dirMode is for directories that only their user reads.
const dirMode = 0o700

// lock makes the caller the only one on this machine that changes the cluster until
// the returned function is called. It does not wait: a second caller has an error. Callers
// on other machines are held apart by CloudFormation: a stack has one operation at a time.
func lock(home, name string) (unlock func(), err error) {
	dir := filepath.Join(home, recordDir)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("cluster %s is being changed by another muster; wait for it to end", name)
	}
	return func() { f.Close() }, nil
}

// openBucket opens a bucket of the account.
func openBucket(ctx context.Context, a *api.Account, bucket string) (*store.S3, error) {
	c := a.Config()
	s := store.Config{Region: a.Region, Credentials: c.Credentials, Bucket: bucket, Attempts: 8} // as often as other calls of up
	if c.BaseEndpoint != nil {
		s.Endpoint = *c.BaseEndpoint
	}
	return store.Open(ctx, s)
}

// mostBytes is the size of the largest object that is read whole into memory.
const mostBytes = 16 << 20

// readObject reads a small object. An absent one is store.ErrNotFound.
func readObject(ctx context.Context, s store.Store, key string) ([]byte, error) {
	body, about, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if about.SizeBytes > mostBytes {
		return nil, fmt.Errorf("object %s has %d bytes", key, about.SizeBytes)
	}
	return io.ReadAll(body)
}

// readJSON reads an object into a value.
func readJSON(ctx context.Context, s store.Store, key string, into any) error {
	text, err := readObject(ctx, s, key)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read object %s: %w", key, err)
	}
	return nil
}

// writeObject stores bytes, unless they are there already.
func writeObject(ctx context.Context, s store.Store, key string, text []byte) error {
	sums, err := store.Sum(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	if there, err := s.Head(ctx, key); err == nil && there.SHA256 == sums.SHA256 {
		return nil
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, err = s.Put(ctx, store.Upload{Key: key, Body: bytes.NewReader(text), SizeBytes: int64(len(text)), Sums: sums})
	return err
}

// writeJSON stores a value.
func writeJSON(ctx context.Context, s store.Store, key string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return writeObject(ctx, s, key, append(text, '\n'))
}

// found are the stacks of a cluster that there are, by name.
type found map[string]cloudformation.State

// look finds the stacks of a cluster. A stack of that name which is not muster's is
// an error.
func look(ctx context.Context, driver *cloudformation.Driver, name string) (found, error) {
	all := found{}
	for _, stack := range stackNames(name) {
		state, err := driver.Describe(ctx, stack)
		switch {
		case errors.Is(err, cloudformation.ErrNoStack):
			continue
		case err != nil:
			return nil, err
		case state.Tags["parallelcluster:cluster-name"] != "":
			return nil, fmt.Errorf("ParallelCluster has a cluster %s here: choose another name with --cluster", name)
		case state.Tags[clusterTag] != name:
			return nil, fmt.Errorf("there is a stack %s that is not muster's: choose another name with --cluster", stack)
		}
		all[stack] = state
	}
	return all, nil
}

// bucket is the cluster's, empty where its base stack is not there yet.
func (f found) bucket(name string) string {
	base := f[baseStack(name)]
	if b := base.Outputs["BucketName"]; b != "" {
		return b
	}
	return base.Tags[bucketTag]
}

// bucketTag is on the base stack of a cluster whose bucket is the file's
// CustomS3Bucket.
const bucketTag = "muster:bucket"
