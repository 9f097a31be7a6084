package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// mended is what became of a file whose problems were to be fixed.
type mended struct {
	before, after []byte
	fixed         []diag.Diagnostic
	// written says that the file has the text after.
	written bool
	// problems are the file's, as it is now.
	problems *diag.List
}

// mend fixes a file's problems, if the user asked for it and there is something
// to fix.
func (c *checker) mend(name string, text []byte, problems *diag.List, check func([]byte) *diag.List) mended {
	m := mended{before: text, after: text, problems: problems}
	if !c.options.fix || text == nil {
		return m
	}
	done := diag.Mender{Check: check, Keeps: yamledit.CommentsKept}.Mend(text)
	m.after, m.fixed = done.Text, done.Fixed
	if c.options.dryRun || bytes.Equal(m.after, m.before) {
		return m
	}
	if name != stdinName {
		if err := c.rewrite(name, m.before, m.after); err != nil {
			m.after, m.fixed = text, nil
			d := problems.Errorf("file/write", "", "the fixed file cannot be written: %v", err).At(diag.Place{File: name})
			if d.WithHint("muster check --fix - < %s prints the fixed text", word(name)); errors.Is(err, errChanged) {
				d.WithHint("what follows is about the text before; check again")
			}
			return m
		}
	}
	m.written, m.problems = true, done.Left
	return m
}

// mended notes the changes that were made, or would be.
func (f *checkedFile) mended(m mended) {
	f.before, f.after = m.before, m.after
	f.Fixed = m.fixed
	if !bytes.Equal(m.before, m.after) {
		f.Diff = string(diff.Diff(f.File, m.before, f.File, m.after))
	}
}

// rewrite gives a file another text, whole or not at all.
func (c *checker) rewrite(name string, before, after []byte) error {
	c.fixes.Lock()
	defer c.fixes.Unlock()
	return rewrite(name, before, after)
}

var errChanged = errors.New("it was changed meanwhile")

// rewrite gives a file another text. It appears whole, with the mode and owner of
// the old one, in the place where a symbolic link leads to. Nothing is changed if
// the file no longer has the old text, or has other names, which would keep it.
func rewrite(path string, before, after []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return whole.Cause(err)
	}
	info, err := writable(target)
	if err != nil {
		return whole.Cause(err)
	}
	beside, err := os.CreateTemp(filepath.Dir(target), ".muster-fix-*")
	if err != nil {
		return fmt.Errorf("no new file can be made in its directory: %w", whole.Cause(err))
	}
	defer os.Remove(beside.Name())
	defer beside.Close()
	if _, err := beside.Write(after); err != nil {
		return whole.Cause(err)
	}
	if err := errors.Join(like(beside, info), beside.Sync()); err != nil {
		return whole.Cause(err)
	}
	if now, err := os.ReadFile(target); err != nil || !bytes.Equal(now, before) {
		return errChanged
	}
	return whole.Cause(whole.Rename(beside.Name(), target))
}

// writable opens a file for writing as an editor would, and says what it is.
func writable(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	if n := info.Sys().(*syscall.Stat_t).Nlink; n > 1 {
		return nil, fmt.Errorf("it has %d names (hard links), and only one would get the new text", n)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return info, f.Close()
}

// like gives a new file the mode and the owner of another one.
func like(f *os.File, info fs.FileInfo) error {
	owner := info.Sys().(*syscall.Stat_t)
	if err := f.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
		return fmt.Errorf("its owner cannot be kept: %w", whole.Cause(err))
	}
	return f.Chmod(info.Mode().Perm())
}
