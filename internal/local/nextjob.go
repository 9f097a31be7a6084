package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// nextJobFile is kept with the data: jobs name their output by their IDs, and the
// next cluster's must not write over the files of this one's.
const nextJobFile = "next_job"

// nextJob is the ID of the first job of a cluster that is made on kept data, 0 where
// there was none before.
func nextJob(l *nodes.Layout) int {
	text, err := whole.Read(l.Path(nextJobFile))
	if err != nil {
		return 0
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || id <= 1 || id > slurm.LastJobID {
		return 0
	}
	return id
}

// keepNextJob writes down which ID comes next: slurmctld knows, or the state tells that a
// dead slurmctld saved.
func keepNextJob(ctx context.Context, l *nodes.Layout) error {
	id := askedID(ctx, l)
	if id == 0 {
		id = slurm.NextAfterLoss(savedID(l))
	}
	if id <= max(nextJob(l), 1) {
		return nil
	}
	if err := whole.Write(l.Path(nextJobFile), []byte(strconv.Itoa(id)+"\n"), 0o644); err != nil {
		return fmt.Errorf("keep the next job's ID: %w", err)
	}
	return nil
}

// askWait is how long slurmctld may take for it.
const askWait = 3 * time.Second

func askedID(ctx context.Context, l *nodes.Layout) int {
	anchor, alive := l.Alive()
	if !alive || !ready(l, "slurmctld") {
		return 0 // slurmctld would not answer
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	id, err := slurmOf(l, anchor).NextJobID(ctx)
	if err != nil {
		return 0
	}
	return id
}

// jobStateHead is more than the head of job_state.
const jobStateHead = 4096

func savedID(l *nodes.Layout) int {
	root, err := os.OpenRoot(l.Path("state", "slurmctld")) // the user slurm owns it, and may have made a link
	if err != nil {
		return 0
	}
	defer root.Close()
	info, err := root.Lstat("job_state")
	if err != nil || info.Mode().Type() != fs.FileMode(0) {
		return 0
	}
	f, err := root.Open("job_state")
	if err != nil {
		return 0
	}
	defer f.Close()
	head := make([]byte, jobStateHead)
	n, _ := f.Read(head)
	id, err := slurm.SavedJobID(head[:n])
	if err != nil {
		return 0
	}
	return id
}

// madeOfFile is kept with the data of a cluster that was taken down: the path of the file
// that it was made of, by which users know it.
const madeOfFile = "made_of"

// keepMadeOf writes it down, while there is a record that says it.
func keepMadeOf(l *nodes.Layout) error {
	record, err := l.Record()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is kept already
	}
	if err == nil {
		err = whole.Write(l.Path(madeOfFile), []byte(record.File+"\n"), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the name of the cluster's file: %w", err)
	}
	return nil
}

// madeOf is the file of a cluster that was taken down and whose data is kept, "" if
// that is unknown.
func (r Ref) madeOf() string {
	text, err := whole.Read(r.Layout().Path(madeOfFile))
	if path := strings.TrimSuffix(string(text), "\n"); err == nil && filepath.IsAbs(path) {
		return path
	}
	return ""
}
