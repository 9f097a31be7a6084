package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	retrySoon = 2 * time.Second
	retryLate = 5 * time.Minute
)

// retries says when what failed is tried again: later each time, and at once if the object is another one.
type retries struct {
	mu   sync.Mutex // guards what follows
	last map[string]failure
}

type failure struct {
	version version
	wait    time.Duration
	next    time.Time
	err     error
}

// due is the error of the last try, while it is too early for the next one.
func (r *retries) due(p string, version version, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.last[p]; ok && f.version == version && now.Before(f.next) {
		return f.err
	}
	return nil
}

func (r *retries) failed(p string, version version, now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]failure{}
	}
	wait := retrySoon
	if f, ok := r.last[p]; ok && f.version == version {
		wait = min(2*f.wait, retryLate)
	}
	r.last[p] = failure{version, wait, now.Add(wait), err}
}

// keep forgets the objects that are not wanted any more.
func (r *retries) keep(wanted []fetch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) == 0 {
		return
	}
	still := map[string]failure{}
	for _, f := range wanted {
		if last, ok := r.last[f.Path]; ok {
			still[f.Path] = last
		}
	}
	r.last = still
}

// due says why an object is not to be tried now. A file in its way, and an object that a pointer waits for, are looked
// at each time: that costs no reading, and ends at once.
func (in *importer) due(f fetch) error {
	if err := in.way(f); err != nil {
		return err
	}
	err := in.later.due(f.Path, f.Object.Version, in.now)
	var w waits
	if errors.As(err, &w) && !slices.Contains(in.missing, w.name) {
		return nil
	}
	return err
}

// way makes the directories that an object needs, and says what keeps it from its name.
func (in *importer) way(f fetch) error {
	name := strings.TrimSuffix(f.Path, "/")
	if !fs.ValidPath(name) || name == "." {
		return errors.New("the key is no path below the directory")
	}
	if name != f.Path { // a directory's marker
		return in.dir.MkdirAll(name, 0o755)
	}
	if err := in.dir.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	_, err := in.file(name)
	return err
}

// file says whether there is a file. That anything else has its name is an error.
func (in *importer) file(name string) (bool, error) {
	info, err := in.dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode().IsRegular() || info.Mode().Type() == fs.ModeSymlink:
		return true, nil
	}
	return false, errors.New("what is there under this name is no file")
}

// waits is the error of a pointer that names what did not come.
type waits struct{ name string }

func (w waits) Error() string { return fmt.Sprintf("it waits for %s, which it names", w.name) }

// mayName says whether all that a pointer names has come. Its content is in the file beside it.
func (in *importer) mayName(name, beside string) error {
	if len(in.missing) == 0 {
		return nil
	}
	text, err := in.text(beside)
	if err != nil {
		return err
	}
	for _, p := range in.missing {
		if pointsAt(name, text, p) {
			return waits{p}
		}
	}
	return nil
}

func (in *importer) text(name string) (string, error) {
	info, err := in.dir.Lstat(name)
	if err != nil {
		return "", err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return in.dir.Readlink(name)
	}
	if info.Size() > pointerBytes {
		return "", nil
	}
	text, err := in.dir.ReadFile(name)
	return strings.TrimSpace(string(text)), err
}

// pointsAt says that a pointer with this text may name p: by a path from its directory, by the last part of a path, by
// an iteration's number, or, if it is no name at all, as everything beside it.
func pointsAt(pointer, text, p string) bool {
	dir := path.Dir(pointer)
	if text == "" || strings.Contains(text, "\n") {
		return below(p, dir)
	}
	named := []string{path.Join(dir, path.Base(text))}
	if !path.IsAbs(text) {
		named = append(named, path.Join(dir, text))
	}
	if n, err := strconv.Atoi(text); err == nil {
		named = append(named, path.Join(dir, fmt.Sprintf("iter_%07d", n)))
	}
	return slices.ContainsFunc(named, func(n string) bool { return p == n || below(p, n) })
}

// alone does something to a file that is as it was seen and is not being written. A lease shows whether a process has it
// open for writing, in any mount namespace; a file system without leases cannot tell.
func (in *importer) alone(f File, do func() error) error {
	if f.Link == "" {
		held, err := in.dir.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer held.Close()
		if _, err := unix.FcntlInt(held.Fd(), unix.F_SETLEASE, unix.F_RDLCK); errors.Is(err, syscall.EAGAIN) {
			return errBusy
		}
	}
	info, err := in.dir.Lstat(f.Path)
	if err != nil {
		return err
	}
	now := described(f.Path, info)
	if f.Link != "" { // one that changed is another inode
		now.SizeBytes, now.Target = f.SizeBytes, f.Target
	}
	if !unchanged(now, f) {
		return errBusy
	}
	return do()
}
