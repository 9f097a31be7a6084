// Package secret keeps the secrets of jobs on the head node, each in a file that only root can
// read, and gives them to their jobs alone.
//
// Its laws: what is kept is a job's and its user's, and nobody else's; a job is given it while
// it runs; and it goes when the job has completed, was cancelled, or is unknown to Slurm, and
// not when it is queued again.
package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// queue is the part of Slurm's client that knows jobs. A problem with a job's number is a job that is there and could not be
// read: see slurm.Proven.
type queue interface {
	Job(ctx context.Context, id int) (slurm.Job, error)
	Jobs(ctx context.Context) ([]slurm.Job, []slurm.Problem, error)
}

// Store keeps secrets. Open makes one.
type Store struct {
	dir   string
	queue queue
	log   *slog.Logger

	mu   sync.Mutex // guards room
	room map[int]taken
}

// kept is a file: the secrets of a job, or of all tasks of an array.
type kept struct {
	Job    int               `json:"job"`
	UID    int               `json:"uid"`
	Values map[string][]byte `json:"values"`
}

// Open is the store in a directory that nobody else may enter.
func Open(dir string, q queue, log *slog.Logger) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for secrets: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("close the directory for secrets: %w", err)
	}
	s := &Store{dir: dir, queue: q, log: log, room: map[int]taken{}}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // a writer was killed
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return s, errors.Join(err, s.measure())
}

const suffix = ".json"

func (s *Store) path(id int) string { return filepath.Join(s.dir, strconv.Itoa(id)+suffix) }

// mostBytes is how much the secrets of a job may be together: less than munge takes in a message.
const mostBytes = 256 << 10

// Keep keeps the secrets of a job of the caller's, until it is over. Root may keep those of any job.
func (s *Store) Keep(ctx context.Context, id, caller int, values map[string][]byte) error {
	size := 0
	for name, value := range values {
		size += len(name) + len(value)
	}
	if size > mostBytes {
		return fmt.Errorf("the secrets have %d bytes together; a job can have %d", size, mostBytes)
	}
	j, err := s.queue.Job(ctx, id)
	if err != nil {
		return fmt.Errorf("ask Slurm for job %d: %w", id, err)
	}
	// On an ordinary user's cluster, that user is 0 for the head node, and another number in Slurm.
	if caller != 0 && j.UID != caller {
		return client.ErrNotTheirs
	}
	text, err := json.Marshal(kept{keyOf(j), j.UID, values})
	if err != nil {
		return err
	}
	return s.put(keyOf(j), j.UID, text)
}

// keyOf is the job by which secrets are kept: tasks of an array have those of the array.
func keyOf(j slurm.Job) int {
	if j.ArrayJobID != 0 {
		return j.ArrayJobID
	}
	return j.ID
}

// Give gives a user the secrets of a job of his that runs.
func (s *Store) Give(ctx context.Context, uid, id int) (map[string][]byte, error) {
	j, err := s.queue.Job(ctx, id)
	switch {
	case errors.Is(err, slurm.ErrNoJob):
		return nil, fmt.Errorf("%w: there is no job %d", join.ErrNotGiven, id)
	case err != nil:
		return nil, fmt.Errorf("ask Slurm for job %d: %w", id, err)
	case j.UID != uid:
		return nil, fmt.Errorf("%w: job %d is not yours", join.ErrNotGiven, id)
	case j.Ended():
		return nil, fmt.Errorf("%w: job %d has ended", join.ErrNotGiven, id)
	case j.State != "RUNNING":
		return nil, fmt.Errorf("job %d does not run: it is %s", id, j.State)
	}
	k, err := s.read(keyOf(j))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the head node has no secrets of job %d; they go when it completes or is cancelled", join.ErrNotGiven, id)
	}
	if err != nil {
		return nil, err
	}
	if k.UID != uid {
		return nil, fmt.Errorf("%w: they are another user's", join.ErrNotGiven)
	}
	return k.Values, nil
}

func (s *Store) read(key int) (kept, error) {
	var k kept
	text, err := whole.Read(s.path(key))
	if err != nil {
		return k, fmt.Errorf("read the secrets of job %d: %w", key, err)
	}
	if err := json.Unmarshal(text, &k); err != nil || k.Job != key {
		return k, fmt.Errorf("read the secrets of job %d: the file is damaged", key) // JSON's errors quote
	}
	return k, nil
}

// every is the time between two looks at which jobs are over.
const every = 5 * time.Second

// Run deletes the secrets of jobs that are over, until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	said := ""
	for pause.For(ctx, every) == nil {
		err := s.Sweep(ctx)
		if err != nil && err.Error() != said && ctx.Err() == nil {
			s.log.Warn("secrets of jobs that are over stay", "error", err)
			said = err.Error()
		}
	}
	return nil
}

// Sweep deletes the secrets of jobs that are over.
func (s *Store) Sweep(ctx context.Context) error {
	have, err := s.keys() // before Slurm is asked: what comes meanwhile stays
	if err != nil || len(have) == 0 {
		return err
	}
	jobs, unread, err := s.queue.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("ask Slurm for its jobs: %w", err)
	}
	var errs []error
	for _, key := range have {
		i := slices.IndexFunc(unread, func(p slurm.Problem) bool { return p.Job == key || p.ArrayJob == key })
		switch {
		case needed(key, jobs):
		case i >= 0:
			errs = append(errs, fmt.Errorf("ask Slurm for job %d: %w", key, unread[i]))
		default:
			errs = append(errs, s.remove(key))
		}
	}
	return errors.Join(errs...)
}

// keys are the jobs whose secrets are kept.
func (s *Store) keys() ([]int, error) {
	entries, err := os.ReadDir(s.dir)
	var all []int
	for _, e := range entries {
		name, _ := strings.CutSuffix(e.Name(), suffix)
		if key, err := strconv.Atoi(name); err == nil {
			all = append(all, key)
		}
	}
	return all, err
}

// needed says that a job may still run, or run again: one that failed may be queued again as
// long as Slurm knows it.
func needed(key int, jobs []slurm.Job) bool {
	for _, j := range jobs {
		done := j.Ended() && !j.Again && (j.State == "COMPLETED" || j.State == "CANCELLED")
		if keyOf(j) == key && !done {
			return true
		}
	}
	return false
}
