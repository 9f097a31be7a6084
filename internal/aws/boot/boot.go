// Package boot makes a machine of AWS one of the cluster: disks, mounts, users, custom
// actions. Each step looks first, decides by a pure function, and acts; it may be
// repeated, and says what it found or did. What a machine lacks is said, too: nothing
// that is missing counts as done.
package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Machine is what boots. The zero value is the one that this program runs on.
type Machine struct {
	// Root is put before the path of each file; empty outside of tests.
	Root string
	// Programs are nil for those of this machine.
	Programs programs
}

// programs are those of a machine.
type programs interface {
	// Run runs a program to its end and returns what it printed. An error has the end
	// of it.
	Run(ctx context.Context, args ...string) (string, error)
	// Find is the path of a program, empty if the machine has none of this name.
	Find(name string) string
}

// Command runs a program to its end.
func (m Machine) Command(ctx context.Context, args ...string) (string, error) {
	if m.Programs == nil {
		return here{}.Run(ctx, args...)
	}
	return m.Programs.Run(ctx, args...)
}

func (m Machine) find(name string) string {
	if m.Programs == nil {
		return here{}.Find(name)
	}
	return m.Programs.Find(name)
}

func (m Machine) path(name string) string { return filepath.Join(m.Root, name) }

// here are this machine's programs.
type here struct{}

// SystemPath is where programs of the system are, as PATH has it.
var SystemPath = strings.Join(systemDirs, ":")

// systemDirs are where programs of the system are; PATH does not count.
var systemDirs = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/slurm/sbin", "/opt/slurm/bin"}

func (here) Find(name string) string {
	for _, dir := range systemDirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

func (h here) Run(ctx context.Context, args ...string) (string, error) {
	path := args[0]
	if !strings.Contains(path, "/") {
		if path = h.Find(args[0]); path == "" {
			return "", fmt.Errorf("run %s: %w", args[0], exec.ErrNotFound)
		}
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PATH="+SystemPath)
	err := cmd.Run()
	if err != nil {
		if lines := tail.Lines(said.String()+out.String(), 3); len(lines) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.Join(lines, " | "))
		}
		return out.String(), fmt.Errorf("run %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), nil
}

// Write makes a file appear whole, with its parents, and tells whether it was
// another before. The owner is empty for root.
func (m Machine) Write(name, text string, mode fs.FileMode, owner string) (changed bool, err error) {
	path := m.path(name)
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return false, give(path, owner, mode)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	err = whole.Make(path, []byte(text), func(beside *os.File) error { return give(beside.Name(), owner, mode) })
	return err == nil, err
}

// Directory makes a directory with its parents.
func (m Machine) Directory(name string, mode fs.FileMode, owner string) error {
	if err := os.MkdirAll(m.path(name), 0o755); err != nil {
		return err
	}
	return give(m.path(name), owner, mode|fs.ModeDir)
}

// give is own.Give. Links that are root's are followed: images bring some.
func give(path, owner string, mode fs.FileMode) error {
	if owner == "" {
		return os.Chmod(path, mode)
	}
	return own.Give(path, owner, mode)
}

// Read is a file's text, empty if there is none.
func (m Machine) Read(name string) (string, error) {
	data, err := os.ReadFile(m.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// exitCode tells whether a program ended with a code.
func exitCode(err error, code int) bool {
	e, ok := errors.AsType[*exec.ExitError](err)
	return ok && e.ExitCode() == code
}

// Find is the path of the first of some programs that the machine has, empty for none.
func (m Machine) Find(names ...string) string {
	for _, n := range names {
		if strings.Contains(n, "/") {
			if info, err := os.Stat(m.path(n)); err == nil && info.Mode()&0o111 != 0 {
				return n
			}
			continue
		}
		if path := m.find(n); path != "" {
			return path
		}
	}
	return ""
}

// patience is how long something is tried that may come late, and how often.
type patience struct {
	Limit, Every time.Duration
}

// try does something until it succeeds, until it says that trying again is no use, or
// until the limit is over.
func (p patience) try(ctx context.Context, do func(context.Context) (again bool, err error)) error {
	began, tries := time.Now(), 0
	for {
		again, err := do(ctx)
		tries++
		if err == nil || !again {
			return err
		}
		if time.Since(began)+p.Every > p.Limit {
			return fmt.Errorf("%w (tried %d times in %s)", err, tries, time.Since(began).Round(time.Second))
		}
		if over := pause.For(ctx, p.Every); over != nil {
			return errors.Join(err, over)
		}
	}
}
