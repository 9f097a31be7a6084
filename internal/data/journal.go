package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/muster-hpc/muster/internal/data/manifest"
)

// ErrBusy says that the same push is under way on this machine.
var ErrBusy = errors.New("the same push is under way on this machine")

// journal is what a push did since the last commit, a line for each deed, so that one that is cut off need not do it
// again. It is nobody's word for what is in the bucket: a record counts only where the object has its version.
type journal struct {
	path string
	file *os.File

	mu sync.Mutex // guards the file's end
}

// note is a line of a journal.
type note struct {
	Path   string           `json:"path"`
	Record *manifest.Record `json:"record,omitempty"` // of an object that was put, or is about to be deleted
	Begun  *begun           `json:"begun,omitempty"`
}

// begun is an upload in parts that began.
type begun struct {
	Upload string `json:"upload"`
	As     string `json:"as"` // what it was begun with: another file, or other wishes, cannot go on with it
}

// openJournal takes a journal, which nobody else has then. It returns ErrBusy if somebody has it.
func openJournal(path string) (*journal, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the journal: %w", err)
		}
		mine, err := lock(f)
		if err == nil && mine {
			return &journal{path: path, file: f}, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock the journal %s: %w", path, err)
		}
	}
}

// lock takes a file unless it was removed meanwhile by who had it.
func lock(f *os.File) (mine bool, err error) {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrBusy
		}
		return false, err
	}
	now, err := os.Stat(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	have, err2 := f.Stat()
	if err := errors.Join(err, err2); err != nil {
		return false, err
	}
	return os.SameFile(now, have), nil
}

// add writes a note. From then on it outlives the program.
func (j *journal) add(n note) error {
	line, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err = j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// mend ends a line that was torn when the program before was cut off.
func (j *journal) mend() error {
	size, err := j.file.Seek(0, io.SeekEnd)
	if err == nil && size > 0 {
		_, err = j.file.Write([]byte("\n"))
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// remove ends a journal whose push is committed.
func (j *journal) remove() error {
	if err := os.Remove(j.path); err != nil {
		return fmt.Errorf("remove the journal: %w", err)
	}
	return nil
}

// close leaves the journal to the next push.
func (j *journal) close() error { return j.file.Close() }
