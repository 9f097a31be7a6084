//go:build linux

package suite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
)

// mark is a file that the head node leaves in a shared file system while nodes look whether they see it: a file system that is mounted
// somewhere may be another one.
type mark struct {
	dir, path, text string
	err             error
}

const (
	markPrefix = ".muster-verify-mark-"
	// markWait bounds the writing of one: its file system may never answer.
	markWait = 10 * time.Second
	// markAge is when one is a remainder, of a process that was killed while nodes looked.
	markAge = time.Hour
)

// leaveMarks leaves a mark in each shared file system that the cluster's file names.
func (r *run) leaveMarks(ctx context.Context) []mark {
	var all []mark
	for _, f := range r.shared() {
		m := mark{dir: f.Mount, path: filepath.Join(f.Mount, markPrefix+rand.Text()), text: rand.Text()}
		written := make(chan error, 1)
		go func() { written <- m.leave(time.Now()) }()
		select {
		case m.err = <-written:
		case <-time.After(markWait):
			m.err = fmt.Errorf("%s does not answer within %s", m.dir, markWait)
		case <-ctx.Done():
			m.err = context.Cause(ctx)
		}
		all = append(all, m)
	}
	return all
}

// leave writes the mark, and removes remainders of others.
func (m mark) leave(now time.Time) error {
	old, _ := filepath.Glob(filepath.Join(m.dir, markPrefix+"*"))
	for _, path := range old {
		if i, err := os.Lstat(path); err == nil && i.Mode().IsRegular() && now.Sub(i.ModTime()) > markAge {
			_ = os.Remove(path)
		}
	}
	f, err := os.OpenFile(m.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(m.text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil { // a full disk has room for the name alone
		_ = os.Remove(m.path)
	}
	return err
}

// takeMarks removes them.
func takeMarks(marks []mark) {
	for _, m := range marks {
		if m.err == nil {
			_ = os.Remove(m.path)
		}
	}
}

// sought are the marks that nodes are asked for.
func sought(marks []mark) map[string]string {
	all := map[string]string{}
	for _, m := range marks {
		if m.err == nil {
			all[m.path] = m.text
		}
	}
	return all
}

// seenAlike is whether all nodes see the head node's files in what they share.
func (r *run) seenAlike(g greeted, marks []mark) []verify.Result {
	var all []verify.Result
	for _, m := range marks {
		for _, n := range r.alloc.nodes {
			if _, ok := g.clocks[n]; !ok {
				continue // its job step says so
			}
			result := verify.Result{Check: "mount-shared", On: n + ":" + m.dir, Verdict: verify.Pass, Found: "it does",
				Want: "sees what the head node writes there", Source: "a file of the head node's, made for this look"}
			switch why := g.unseen[n][m.path]; {
			case m.err != nil:
				result.Verdict, result.Found, result.Why = verify.Blind, "", "the head node cannot write there: "+m.err.Error()
			case why != "":
				result.Verdict, result.Found, result.Why = verify.Fail, "it does not", why
				result.Hint = "what jobs write there is lost: findmnt " + m.dir + " on the node says what is mounted in its place"
			}
			all = append(all, result)
		}
	}
	return all
}
