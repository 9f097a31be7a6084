package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
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
	dir := path.Dir(name)
	if name != f.Path { // a directory's marker
		dir = name
	}
	at, err := in.made(dir)
	if err != nil || name != f.Path {
		return errors.Join(err, shut(at))
	}
	_, err = isFile(at, path.Base(name))
	return errors.Join(err, shut(at))
}

func shut(at *os.Root) error {
	if at == nil {
		return nil
	}
	return at.Close()
}

// waits is the error of a pointer that names what did not come.
type waits struct{ name string }

func (w waits) Error() string { return fmt.Sprintf("it waits for %s, which it names", w.name) }

// mayName says whether all that a pointer names has come. Its content is in the file beside it.
func (in *importer) mayName(name string, at *os.Root, beside string) error {
	if len(in.missing) == 0 {
		return nil
	}
	text, err := textOf(at, beside)
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

func textOf(at *os.Root, name string) (string, error) {
	info, err := at.Lstat(name)
	if err != nil {
		return "", err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return at.Readlink(name)
	}
	if info.Size() > pointerBytes {
		return "", nil
	}
	f, err := at.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, pointerBytes))
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
