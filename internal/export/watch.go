package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watched is what may change a file, or which files there are. Writes count, too: a log may stay open for days.
const watched = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// errLost says that changes went unseen: all is to be looked at again.
var errLost = errors.New("changes went unseen")

// watch says what changed below a directory, by inotify(7): it watches inodes, so it sees what jobs do through other
// mounts and in other namespaces. It does not see writes through mmap(2) before the file is closed, nor those of other
// machines. Not for use by more than one goroutine.
type watch struct {
	root  string
	skip  *regexp.Regexp // names that do not count
	file  *os.File
	paths map[int32]string // by watch descriptor
	ids   map[string]int32

	bell   chan<- struct{}
	heard  chan struct{} // the changes were asked for since the bell rang
	closed chan struct{}
	ringer sync.WaitGroup
}

// newWatch begins to watch all directories below root. What happens from now on will be said. The bell rings when there
// is something to say.
func newWatch(root string, skip *regexp.Regexp, bell chan<- struct{}) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", root, err)
	}
	w := &watch{
		root: root, skip: skip, file: os.NewFile(uintptr(fd), "inotify"), paths: map[int32]string{}, ids: map[string]int32{},
		bell: bell, heard: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	if err := w.add("."); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %w", root, err), w.close())
	}
	w.ringer.Go(w.ring)
	return w, nil
}

func (w *watch) close() error {
	if w == nil {
		return nil
	}
	close(w.closed)
	err := w.file.Close()
	w.ringer.Wait()
	return err
}

// ring announces once that there are changes, until they are taken.
func (w *watch) ring() {
	for w.ready() == nil {
		select {
		case w.bell <- struct{}{}:
		default: // it rings already
		}
		select {
		case <-w.heard:
		case <-w.closed:
			return
		}
	}
}

// add watches a directory and all below it. Each is watched before it is read, so none is missed.
func (w *watch) add(dir string) error {
	full := filepath.Join(w.root, dir)
	var id int
	err := w.control(func(fd int) (err error) {
		id, err = unix.InotifyAddWatch(fd, full, watched)
		return err
	})
	if dir != "." && (present(err) == nil || errors.Is(err, fs.ErrPermission)) && err != nil {
		return nil // it is gone again, or shut, and its end and its opening will be said
	}
	if err != nil {
		return err
	}
	w.paths[int32(id)], w.ids[dir] = dir, int32(id)
	entries, err := os.ReadDir(full)
	if err != nil && (dir == "." || present(err) != nil && !errors.Is(err, fs.ErrPermission)) {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && !w.skipped(e.Name()) {
			if err := w.add(path.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *watch) skipped(name string) bool { return w.skip != nil && w.skip.MatchString(name) }

func (w *watch) control(do func(fd int) error) error {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = do(int(fd)) })
	return errors.Join(err, failed)
}

// ready waits until something changed, or until the watch is closed.
func (w *watch) ready() error {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		return err != nil || n > 0
	})
}

// changes are the paths of which something was said since the last call, and whether they are directories. After an
// error there is only one thing to do: to look at everything and to watch anew.
func (w *watch) changes() (map[string]bool, error) {
	changed := map[string]bool{}
	buffer := make([]byte, 64<<10)
	for {
		var n int
		err := w.control(func(fd int) (err error) {
			n, err = unix.Read(fd, buffer)
			return err
		})
		if errors.Is(err, syscall.EAGAIN) {
			select {
			case w.heard <- struct{}{}:
			default:
			}
			return changed, nil
		}
		if err != nil {
			return nil, err
		}
		if err := w.events(buffer[:n], changed); err != nil {
			return nil, err
		}
	}
}

func (w *watch) events(text []byte, changed map[string]bool) error {
	for len(text) >= unix.SizeofInotifyEvent {
		event := (*unix.InotifyEvent)(unsafe.Pointer(&text[0]))
		end := unix.SizeofInotifyEvent + int(event.Len)
		name := strings.TrimRight(string(text[unix.SizeofInotifyEvent:end]), "\x00")
		text = text[end:]
		if err := w.event(event, name, changed); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) event(e *unix.InotifyEvent, name string, changed map[string]bool) error {
	dir, known := w.paths[e.Wd]
	switch {
	case e.Mask&unix.IN_Q_OVERFLOW != 0:
		return errLost
	case known && dir == "." && e.Mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0:
		return errLost
	case e.Mask&unix.IN_IGNORED != 0:
		w.forget(e.Wd)
		return nil
	case !known || name == "" || w.skipped(name):
		return nil
	}
	p, isDir := path.Join(dir, name), e.Mask&unix.IN_ISDIR != 0
	changed[p] = changed[p] || isDir
	if isDir && e.Mask&unix.IN_MOVED_FROM != 0 {
		w.drop(p)
	}
	if isDir && e.Mask&(unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ATTRIB) != 0 {
		return w.add(p)
	}
	return nil
}

func (w *watch) forget(id int32) {
	if p, ok := w.paths[id]; ok {
		delete(w.paths, id)
		if w.ids[p] == id {
			delete(w.ids, p)
		}
	}
}

// drop ends the watches of a directory that is elsewhere now, and of all below it.
func (w *watch) drop(dir string) {
	for p, id := range w.ids {
		if p == dir || below(p, dir) {
			_ = w.control(func(fd int) error { // it may be gone altogether
				_, err := unix.InotifyRmWatch(fd, uint32(id))
				return err
			})
			w.forget(id)
		}
	}
}
