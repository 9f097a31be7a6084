package job

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/sys/tail"
)

const (
	// outputStep is the most that one Copy reads, in bytes.
	outputStep = 1 << 20
	// tailSize is how much of the end of a file is searched for progress.
	tailSize = 1 << 20
)

// Output reads a file that a job writes to, as it grows. A file that is not
// there yet has nothing to read; one that was truncated, written anew or
// replaced is read from its start. It is for one goroutine at a time.
type Output struct {
	Path string
	// UID is the job's user, the file's owner where root reads it.
	UID int
	// Since leaves a file alone that was last written before this time: it is
	// another job's.
	Since time.Time

	file  *os.File
	spot  tail.Spot // of what is open
	fresh bool      // the file is known to be this job's
}

// Open says whether the file was there.
func (o *Output) Open() bool { return o.file != nil }

// Copy writes what is new to w and tells whether there may be more at once.
func (o *Output) Copy(w io.Writer) (more bool, err error) {
	replaced, err := o.find()
	if err != nil || o.file == nil {
		return false, err
	}
	info, err := o.file.Stat()
	if err != nil {
		return false, err
	}
	if !o.fresh && info.ModTime().Before(o.Since) {
		return false, nil
	}
	o.fresh = true
	if !o.spot.Holds(o.file, info) {
		o.spot = tail.Spot{}
	}
	n, err := io.Copy(w, io.TeeReader(io.NewSectionReader(o.file, o.spot.Offset, outputStep), &o.spot))
	return n == outputStep || replaced, err
}

// find opens the file, or the one that has come in its place if all of the old
// one was read. It tells whether another one waits.
func (o *Output) find() (replaced bool, err error) {
	now, err := os.Stat(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // what is open can still be read
	}
	if err != nil {
		return false, err
	}
	if !now.Mode().IsRegular() {
		return false, fmt.Errorf("%s is no ordinary file", o.Path)
	}
	if o.file != nil {
		have, err := o.file.Stat()
		if err != nil || os.SameFile(have, now) {
			return false, err
		}
		if have.Size() > o.spot.Offset {
			return true, nil
		}
		o.Close()
	}
	// Should it become a pipe in this moment, opening it must not wait.
	o.file, now, err = openLog(o.Path, o.UID)
	if err == nil && !now.Mode().IsRegular() {
		o.Close()
		err = fmt.Errorf("%s is no ordinary file", o.Path)
	}
	o.spot = tail.Spot{}
	return false, err
}

// reopen opens the file anew to go on at the same place. Network file systems show
// writes of other machines only in files that are opened after the writer closed them.
func (o *Output) reopen() error {
	if o.file == nil {
		return nil
	}
	file, now, err := openLog(o.Path, o.UID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	have, err := o.file.Stat()
	if err != nil || !os.SameFile(have, now) {
		return errors.Join(err, file.Close())
	}
	err = o.file.Close()
	o.file = file
	return err
}

// Close ends the reading.
func (o *Output) Close() {
	if o.file != nil {
		o.file.Close()
		o.file = nil
	}
}

// ReadProgress finds the last line of progress at the end of a file of a user's job. A file
// that is not there has none.
func ReadProgress(path string, uid int) (trainlog.Sample, bool, error) {
	tail, _, err := readTail(path, uid, tailSize)
	if err != nil {
		return trainlog.Sample{}, false, err
	}
	p, ok := LastProgress(tail)
	return p, ok, nil
}

// readTail reads the end of a file, and says where it begins. A file that is not there has none.
func readTail(path string, uid int, size int64) (tail []byte, from int64, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	file, info, err := openLog(path, uid)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	if !info.Mode().IsRegular() {
		return nil, 0, nil
	}
	from = max(0, info.Size()-size)
	tail, err = io.ReadAll(io.NewSectionReader(file, from, size))
	return tail, from, err
}
