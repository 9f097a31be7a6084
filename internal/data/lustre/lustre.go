// Package lustre speaks lfs(1) of Lustre about files whose data may be in a bucket alone: what FSx for Lustre calls
// released, exported or dirty. It asks about ordinary files by name, in batches, and promises that one file of which
// lfs says nothing hides no other.
package lustre

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

// Action is what is being done for a file now.
type Action struct {
	Name       string // NOOP, ARCHIVE, RESTORE, RELEASE, REMOVE, CANCEL
	Progress   string // waiting, running, done; "" of NOOP
	MovedBytes int64  // so far, while it runs
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

// Batches divides paths into as many as one call takes.
func Batches(paths []string) [][]string {
	var all [][]string
	for len(paths) > 0 {
		n, bytes := 0, 0
		for n < len(paths) && n < batchFiles && (n == 0 || bytes+len(paths[n]) < batchBytes) {
			bytes += len(paths[n]) + 1
			n++
		}
		all, paths = append(all, paths[:n]), paths[n:]
	}
	return all
}

// States asks for the states of ordinary files, whose paths are absolute. Their order is that of the answers.
func (c Client) States(ctx context.Context, paths []string) ([]Answer, error) {
	var all []Answer
	for len(paths) > 0 {
		batch := Batches(paths)[0]
		out, complaint, err := c.Run(ctx, append([]string{"hsm_state"}, batch...)...)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		states, wrong := ParseStates(out, batch)
		if wrong != nil {
			return all, wrong
		}
		for i, s := range states {
			all = append(all, Answer{Path: batch[i], State: s})
		}
		n := len(states)
		if n < len(batch) { // lfs stops at the first file of which it cannot say anything
			if err == nil {
				return all, fmt.Errorf("lfs hsm_state says nothing of %q", batch[n])
			}
			all = append(all, Answer{Path: batch[n], Err: said(complaint, err)})
			n++
		}
		paths = paths[n:]
	}
	return all, nil
}

// said is an error of lfs in its own words.
func said(complaint string, err error) error {
	if line, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n"); line != "" {
		return fmt.Errorf("lfs: %s", line)
	}
	return fmt.Errorf("lfs: %w", err)
}

// Restore asks Lustre to bring files' data from their bucket. It returns once that is asked for. What was asked for
// before is no error.
func (c Client) Restore(ctx context.Context, paths []string) error {
	for _, batch := range Batches(paths) {
		if _, complaint, err := c.Run(ctx, append([]string{"hsm_restore"}, batch...)...); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return said(complaint, err)
		}
	}
	return nil
}

// ParseStates reads what `lfs hsm_state` says of files, as many as it says something of: it stops at the first of which
// it cannot. A path may have any byte.
func ParseStates(out string, paths []string) ([]State, error) {
	var all []State
	for _, p := range paths {
		if out == "" {
			return all, nil
		}
		rest, ok := strings.CutPrefix(out, p+": (0x")
		line, next, _ := strings.Cut(rest, "\n")
		bits, _, closed := strings.Cut(line, ")")
		n, err := strconv.ParseUint(bits, 16, 32)
		if !ok || !closed || err != nil {
			return all, fmt.Errorf("read lfs hsm_state: this is not about %q: %.200q", p, out)
		}
		all, out = append(all, State(n)), next
	}
	if out != "" {
		return all, fmt.Errorf("read lfs hsm_state: nothing was asked of this: %.200q", out)
	}
	return all, nil
}

// ParseActions reads what `lfs hsm_action` says of files, in the same way.
func ParseActions(out string, paths []string) ([]Action, error) {
	var all []Action
	for _, p := range paths {
		if out == "" {
			return all, nil
		}
		rest, ok := strings.CutPrefix(out, p+": ")
		line, next, _ := strings.Cut(rest, "\n")
		words := strings.Fields(line)
		if !ok || len(words) == 0 {
			return all, fmt.Errorf("read lfs hsm_action: this is not about %q: %.200q", p, out)
		}
		a := Action{Name: words[0]}
		if len(words) > 1 {
			a.Progress = words[1]
		}
		if len(words) == 5 && words[3] == "bytes" {
			a.MovedBytes, _ = strconv.ParseInt(strings.TrimPrefix(words[2], "("), 10, 64)
		}
		all, out = append(all, a), next
	}
	return all, nil
}
