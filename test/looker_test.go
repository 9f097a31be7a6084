package test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/thread"
)

// looker looks at a bucket again and again, as somebody would who has to start from it now: what a pointer names is
// there, whole.
type looker struct {
	t      *testing.T
	bucket store.Store
	runs   int
	cancel func()
	ended  chan struct{}

	mu     sync.Mutex // guards what follows
	newest map[int]string
	looks  int
}

// lookAt looks at the pointers RUN/latest of a bucket of the cluster's, RUN from 1 to runs, until it is stopped.
func (c *cluster) lookAt(bucket string, runs int) *looker {
	c.t.Helper()
	config := store.Config{Endpoint: "http://" + c.door("10.99.0.1:9000"), Region: "us-east-1", CredentialsFile: c.path("etc", "s3", "credentials"), Bucket: bucket}
	s, err := store.Open(c.t.Context(), config)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	l := &looker{t: c.t, bucket: s, runs: runs, cancel: cancel, ended: make(chan struct{}), newest: map[int]string{}}
	go func() {
		defer close(l.ended)
		for ctx.Err() == nil {
			l.round(ctx)
		}
	}()
	c.t.Cleanup(func() { l.stop() })
	return l
}

// stop ends the looking, and returns how often a pointer was followed.
func (l *looker) stop() int {
	l.cancel()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looks
}

// all tells whether all pointers were seen to name a checkpoint that is whole.
func (l *looker) all(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for run := 1; run <= l.runs; run++ {
		if l.newest[run] != name {
			return false
		}
	}
	return true
}

// round follows each pointer once. The S3 server may be dead: then there was no look.
func (l *looker) round(ctx context.Context) {
	for run := 1; run <= l.runs && ctx.Err() == nil; run++ {
		name, err := l.get(ctx, fmt.Sprintf("%d/latest", run))
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) {
				wait(ctx, 50*time.Millisecond)
			}
			continue
		}
		l.follow(ctx, run, strings.TrimSpace(string(name)))
	}
	wait(ctx, 100*time.Millisecond)
}

// follow reads all files of the checkpoint that a pointer names.
func (l *looker) follow(ctx context.Context, run int, name string) {
	dir := fmt.Sprintf("%d/%s/", run, name)
	err := l.whole(ctx, dir)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, errOther) {
		l.t.Errorf("the bucket's %d/latest names %s: %v", run, name, err)
	}
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest[run] = name
	l.looks++
}

var errOther = errors.New("has other bytes than its list of checksums says")

// whole tells what is not there of a checkpoint, or is not what was written.
func (l *looker) whole(ctx context.Context, dir string) error {
	sums, err := l.get(ctx, dir+"sums")
	if err != nil {
		return err
	}
	if bytes.Count(sums, []byte("\n")) != 3 {
		return fmt.Errorf("%ssums %w: %q", dir, errOther, sums)
	}
	for line := range strings.Lines(string(sums)) {
		want, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := l.get(ctx, dir+file)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%s%s %w", dir, file, errOther)
		}
	}
	return nil
}

func (l *looker) get(ctx context.Context, key string) ([]byte, error) {
	body, _, err := l.bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// door is an address of this machine's loopback that leads to one in the cluster's network, until the test ends.
func (c *cluster) door(address string) string {
	c.t.Helper()
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", c.anchor()))
	if err != nil {
		c.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { forward(from, network, address) })
		}
	})
	c.t.Cleanup(func() {
		l.Close()
		open.Wait()
		network.Close()
	})
	return l.Addr().String()
}

// forward connects a connection with an address of another network. Both end when one of them does.
func forward(from net.Conn, network *os.File, address string) {
	defer from.Close()
	var to net.Conn
	err := thread.Do(0, func() (err error) {
		if err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err == nil {
			to, err = net.DialTimeout("tcp", address, 5*time.Second)
		}
		return err
	})
	if err != nil {
		return // nobody listens there now
	}
	var both sync.WaitGroup
	both.Go(func() { pour(to, from) })
	both.Go(func() { pour(from, to) })
	both.Wait()
	to.Close()
}

// pour copies to the end, and ends the other direction, too.
func pour(to, from net.Conn) {
	_, _ = io.Copy(to, from) // a dead side is what this is about
	_ = to.SetDeadline(time.Unix(1, 0))
	_ = from.SetDeadline(time.Unix(1, 0))
}
