//go:build linux

package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/sys/heed"
)

// Answer is what the file system of a directory said within the time that it was given.
type Answer struct {
	Dir string
	// Mounted says that something is mounted right there.
	Mounted bool
	// Silent says that it did not answer in time; Error is what it said instead of its room.
	Silent bool
	Error  string
	// Size and Free are bytes, Inodes and FreeInodes are 0 where there are none to count.
	Size, Free, Inodes, FreeInodes int64
}

// answerWait is how long a file system may take to tell its room.
const answerWait = 10 * time.Second

// Answers asks the file systems of directories for their room, all at once and in processes of their own: one whose server is gone
// keeps its process for ever, and no signal ends it. It takes little more than ten seconds.
func Answers(ctx context.Context, dirs []string) ([]Answer, error) {
	mounted, err := mountPoints()
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(dirs))
	var all sync.WaitGroup
	for i, dir := range dirs {
		all.Go(func() {
			answers[i] = answer(ctx, dir)
			answers[i].Mounted = slices.Contains(mounted, dir)
		})
	}
	all.Wait()
	return answers, context.Cause(ctx)
}

// mountPoints are the places where something is mounted, as the kernel knows them without asking anybody.
func mountPoints() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read the mounts: %w", err)
	}
	var all []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 4 {
			all = append(all, unescape.Replace(words[4]))
		}
	}
	return all, nil
}

// answer asks one file system. A process that does not end is left behind.
func answer(ctx context.Context, dir string) Answer {
	a := Answer{Dir: dir}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "stat", "--file-system", "--format=%S %b %a %c %d", "--", dir)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &wrong, time.Second
	err := heed.Call(ctx, cmd.Run)
	switch {
	case ctx.Err() != nil:
		a.Silent = true
		return a
	case errors.Is(err, exec.ErrNotFound):
		a.Error = "blind: " + err.Error()
		return a
	case err != nil:
		_, said, _ := strings.Cut(strings.TrimSpace(wrong.String()), "': ")
		a.Error = strings.TrimSpace(said)
		if a.Error == "" {
			a.Error = "blind: " + err.Error()
		}
		return a
	}
	var unit int64
	if n, err := fmt.Sscan(out.String(), &unit, &a.Size, &a.Free, &a.Inodes, &a.FreeInodes); n != 5 || err != nil {
		a.Error = "blind: stat says " + strings.TrimSpace(out.String())
		return a
	}
	a.Size, a.Free = a.Size*unit, a.Free*unit
	return a
}
