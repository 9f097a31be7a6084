package slurm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// SkipLostJobIDs has a slurmctld that is started after the death of another give no ID
// away again, and returns the first one that it gives, 0 where nothing was saved. It may
// be called only while no slurmctld runs.
//
// The ID stands in what slurmctld saved, rather than in FirstJobId of slurm.conf: machines
// that have read slurm.conf have nothing to read again, and after MaxJobId Slurm begins
// again where it did before.
func SkipLostJobIDs(stateDir string) (next int, err error) {
	root, err := os.OpenRoot(stateDir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	// slurmctld reads the second where it has died between two steps of replacing the first.
	names := []string{"job_state", "job_state.old"}
	for _, name := range names {
		id, err := eachSaved(root, name, func(*os.File) error { return nil })
		if err != nil {
			return 0, err
		}
		next = max(next, id)
	}
	next = NextAfterLoss(next)
	for _, name := range names {
		if _, err := eachSaved(root, name, func(f *os.File) error { return putNextID(f, next) }); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// eachSaved opens a file that slurmctld saved and returns the next ID that it has; one
// that is not there has none.
func eachSaved(root *os.Root, name string, do func(*os.File) error) (int, error) {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, stateHead)
	if _, err := io.ReadFull(f, head); err != nil {
		return 0, fmt.Errorf("read the head of %s: %w", name, err)
	}
	id, err := SavedJobID(head)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return id, do(f)
}

// putNextID changes four bytes in place, which are there whole or not at all and need no
// room on the disk.
func putNextID(f *os.File, next int) error {
	if _, err := f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(next)), int64(stateNextID)); err != nil {
		return err
	}
	return f.Sync()
}
