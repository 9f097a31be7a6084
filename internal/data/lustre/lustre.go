// Package lustre speaks lfs(1) of Lustre about files whose data may be in a bucket alone: what FSx for Lustre calls
// released, exported or dirty. It asks about ordinary files by name, in batches, and promises that one file of which
// lfs says nothing hides no other.
package lustre

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// State is what Lustre's store of a file's data knows of it. The bits are those of hsm_state's hexadecimal number.
type State uint32

const (
	exists       State = 0x01
	dirty        State = 0x02
	released     State = 0x04
	archived     State = 0x08
	neverArchive State = 0x20
	lost         State = 0x40
)

// Released says that only the bucket has the file's data.
func (s State) Released() bool { return s&released != 0 }

// Lost says that the bucket does not have it any more.
func (s State) Lost() bool { return s&lost != 0 }

// Exported says that the bucket has the file as it is now.
func (s State) Exported() bool { return s&archived != 0 && s&(dirty|lost) == 0 }

// Refused says that the file is never exported, because somebody said so.
func (s State) Refused() bool { return s&neverArchive != 0 }

// String are lfs's words.
func (s State) String() string {
	var words []string
	for _, x := range []struct {
		bit  State
		word string
	}{{released, "released"}, {exists, "exists"}, {dirty, "dirty"}, {archived, "archived"}, {0x10, "never_release"}, {neverArchive, "never_archive"}, {lost, "lost_from_hsm"}} {
		if s&x.bit != 0 {
			words = append(words, x.word)
		}
	}
	return strings.Join(words, " ")
}

// Runner runs lfs with arguments. An exit code other than 0 is an error.
type Runner func(ctx context.Context, args ...string) (stdout, stderr string, err error)

// Client asks lfs.
type Client struct{ Run Runner }

// Answer is what lfs said of a file.
type Answer struct {
	Path  string
	State State
	Err   error
}

// batchFiles and batchBytes bound the names of one call: a program takes 128 KiB in one argument, and about 2 MiB in all.
const (
	batchFiles = 500
	batchBytes = 128 << 10
)

// batch is as many of some paths as one call takes.
func batch(paths []string) []string {
	n, bytes := 0, 0
	for n < len(paths) && n < batchFiles && (n == 0 || bytes+len(paths[n]) < batchBytes) {
		bytes += len(paths[n]) + 1
		n++
	}
	return paths[:n]
}

// States asks for the states of ordinary files, whose paths are absolute. Their order is that of the answers.
func (c Client) States(ctx context.Context, paths []string) ([]Answer, error) {
	var all []Answer
	for len(paths) > 0 {
		batch := batch(paths)
		out, complaint, err := c.Run(ctx, append([]string{"hsm_state"}, batch...)...)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		states, wrong := ParseStates(out, batch)
		if wrong != nil {
			return all, wrong
		}
		if len(states) < len(batch) && err == nil {
			return all, fmt.Errorf("lfs hsm_state says nothing of some of %d files, such as %q", len(batch), batch[len(batch)-1])
		}
		n := tried(batch, states, complaint)
		for _, p := range batch[:n] {
			a := Answer{Path: p}
			if s, ok := states[p]; ok {
				a.State = s
			} else {
				a.Err = said(about(complaint, p), err)
			}
			all = append(all, a)
		}
		paths = paths[n:]
	}
	return all, nil
}

// tried is how many files lfs came to: before 2.16 it stops at the first of which it cannot say anything, and from then on
// it goes on to the last (https://jira.whamcloud.com/browse/LU-5170).
func tried(batch []string, states map[string]State, complaint string) int {
	if about(complaint, batch[len(batch)-1]) != "" {
		return len(batch)
	}
	for n := len(batch); n > 0; n-- {
		if _, ok := states[batch[n-1]]; ok {
			return min(n+1, len(batch))
		}
	}
	return 1
}

// about is what lfs complains of a file, "" if it does not.
func about(complaint, path string) string {
	for _, end := range []string{":", "'"} {
		before, after, ok := strings.Cut(complaint, path+end)
		if ok {
			reason, _, _ := strings.Cut(after, "\n")
			return before[strings.LastIndex(before, "\n")+1:] + path + end + reason
		}
	}
	return ""
}

// said is an error of lfs in its own words.
func said(complaint string, err error) error {
	if words := strings.TrimPrefix(strings.TrimSpace(complaint), "lfs "); words != "" {
		return fmt.Errorf("lfs: %s", words)
	}
	return fmt.Errorf("lfs: %w", err)
}

// Restore asks Lustre to bring files' data from their bucket. It returns once that is asked for. What was asked for
// before is no error, nor is a file that went away.
func (c Client) Restore(ctx context.Context, paths []string) error {
	for len(paths) > 0 {
		batch := batch(paths)
		if err := c.restore(ctx, batch); err != nil {
			parts := together(batch)
			if len(parts) == 1 && len(parts[0]) == len(batch) {
				return err
			}
			for _, some := range parts {
				if err := c.restore(ctx, some); err != nil {
					return err
				}
			}
		}
		paths = paths[len(batch):]
	}
	return nil
}

func (c Client) restore(ctx context.Context, batch []string) error {
	_, complaint, err := c.Run(ctx, append([]string{"hsm_restore"}, batch...)...)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n")
	return said(line, err)
}

// together divides files by their file system, without those that went away: lfs asks for none if there is one of another
// file system among them, or one that is not there.
func together(paths []string) [][]string {
	var all [][]string
	at := map[uint64]int{}
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err != nil {
			continue
		}
		device := uint64(info.Sys().(*syscall.Stat_t).Dev)
		n, ok := at[device]
		if !ok {
			n, all = len(all), append(all, nil)
			at[device] = n
		}
		all[n] = append(all[n], p)
	}
	return all
}
