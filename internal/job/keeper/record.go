package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// record is what outlives a keeper of one job.
type record struct {
	ID      int           `json:"id"`
	Label   string        `json:"label"`
	Name    string        `json:"name"`
	User    string        `json:"user"`
	UID     int           `json:"uid"`
	GID     int           `json:"gid"`
	WorkDir string        `json:"work_dir,omitempty"`
	Adopted bool          `json:"adopted,omitempty"`
	Since   time.Time     `json:"since"`
	Policy  policy.Policy `json:"policy"`
	// Exclude are the nodes that the job's owner excluded, Excluded those that we did, ExcludedAt
	// when what we did so for was.
	Exclude    string               `json:"exclude,omitempty"`
	Excluded   []string             `json:"excluded,omitempty"`
	ExcludedAt map[string]time.Time `json:"excluded_at,omitempty"`

	Logs    []logState         `json:"logs,omitempty"`
	Samples []client.JobSample `json:"samples,omitempty"`
	Stride  int                `json:"stride,omitempty"` // of so many lines one is kept
	Skipped int                `json:"skipped,omitempty"`
	Rhythm  rhythm             `json:"rhythm"`
	Curves  curves             `json:"curves,omitzero"`
	// Claims are what its runs have held against nodes by their own word alone.
	Claims []claim `json:"claims,omitempty"`
	// Checkpoints are the newest ones.
	Checkpoints []errand.Checkpoint `json:"checkpoints,omitempty"`
	// Saved are those that became whole, SavedSince is from when on all are there.
	Saved      []client.JobSaved `json:"saved,omitempty"`
	SavedSince time.Time         `json:"saved_since,omitzero"`

	Run    *run              `json:"run,omitempty"`
	Rounds []client.JobRound `json:"rounds,omitempty"`
	Act    *act              `json:"act,omitempty"`
	// Forgotten are the rounds before these.
	Forgotten forgotten `json:"forgotten,omitzero"`
	// Ended is when the job ended for good, or was forgotten by Slurm.
	Ended time.Time `json:"ended,omitzero"`

	// What follows is not written down.

	job      slurm.Job
	dirty    bool
	odd      bool      // it was said that it makes no sense
	turn     int       // the one in which it was looked at last
	asked    bool      // for a run before it was first seen
	asks     try       // and when that is tried again
	polled   time.Time // its logs
	looked   time.Time // at the checkpoints
	lookTook time.Duration
	// readmitted is when it was last looked whether the job, which waits, may have nodes again.
	readmitted time.Time
	unseen     string // why not all checkpoints could be seen, at the last look
	readers    map[string]*trainlog.Reader
	deaf       []string  // why which logs could not be followed
	looks      []look    // at its processes, since it is silent
	nextLook   time.Time // the first that may be the next one
	asking     <-chan told
}

// run is the run of a job that goes on, or has ended and is not judged yet.
type run struct {
	Restarts int       `json:"restarts"`
	Start    time.Time `json:"start"`
	Nodes    string    `json:"nodes"`
	// Alive is when it was seen to be alive otherwise, or was suspended.
	Alive time.Time `json:"alive,omitzero"`
	// First and Last are when the first and the last line of progress came, Wrote when the job
	// wrote anything.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Wrote time.Time `json:"wrote,omitzero"`
	// Over is when its end was seen first.
	Over  time.Time    `json:"over,omitzero"`
	Step  int64        `json:"step,omitempty"`
	Hang  *hang        `json:"hang,omitempty"`
	Slow  *slow        `json:"slow,omitempty"`
	Signs []cause.Sign `json:"signs,omitempty"`
}

// same says that a job is in this run.
func (r *run) same(j slurm.Job) bool { return r.Restarts == j.Restarts && r.Start.Equal(j.StartTime) }

// active says that there is something to do for the job.
func (r *record) active() bool { return r.Ended.IsZero() }

func (r *record) user() errand.User { return errand.User{UID: r.UID, GID: r.GID} }

const recordSuffix = ".json"

func (k *Keeper) path(id int) string { return filepath.Join(k.State, strconv.Itoa(id)+recordSuffix) }

// load reads what was written down. What cannot be read is put aside, and is no other job's trouble.
func (k *Keeper) load() error {
	if err := os.MkdirAll(k.State, 0o700); err != nil {
		return fmt.Errorf("make the directory for jobs: %w", err)
	}
	entries, err := os.ReadDir(k.State)
	if err != nil {
		return fmt.Errorf("read what is known of jobs: %w", err)
	}
	var ids []int
	for _, e := range entries {
		name, isRecord := strings.CutSuffix(e.Name(), recordSuffix)
		id, err := strconv.Atoi(name)
		if !isRecord || err != nil {
			k.sweep(e.Name())
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if more := len(ids) - recordsMost; more > 0 {
		k.Log.Warn("what was known of the oldest jobs is left out", "jobs", more, "directory", k.State)
		ids = ids[more:]
	}
	for _, id := range ids {
		r, err := readRecord(k.path(id), id)
		if err != nil {
			k.setAside(id, err)
			continue
		}
		k.records[id] = r
	}
	return nil
}

// recordsMost is how many records are read: more jobs than Slurm has by default.
const recordsMost = 20_000

// setAside puts away a record that cannot be used, and tells of it.
func (k *Keeper) setAside(id int, why error) {
	k.Log.Warn("what was known of a job is lost", "job", id, "error", why)
	now := k.path(id) + ".damaged"
	if err := whole.Rename(k.path(id), now); err != nil {
		now = fmt.Sprintf("it stays there: %v", whole.Cause(err)) // and is said again at the next start
	}
	k.Tell(Event{Job: id, Kind: "job record", Reason: fmt.Sprintf("what was known of job %d cannot be used, and is set aside: %v; now %s", id, why, now),
		Hint: fmt.Sprintf("its script is read again; a job that it does not ask for is kept again by `muster job adopt %d`", id)})
}

// sweep removes what a writer left behind that was killed.
func (k *Keeper) sweep(name string) {
	if strings.HasPrefix(name, ".") {
		_ = os.Remove(filepath.Join(k.State, name)) // it is tried again at the next start
	}
}

func readRecord(path string, id int) (*record, error) {
	text, err := whole.Read(path)
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if r.ID != id || r.UID < 0 {
		return nil, errors.New("it is another job's")
	}
	return r, r.sound()
}

// sound complains of a record with which nothing can be done. What else is odd in it is that job's
// own trouble.
func (r *record) sound() error {
	for _, l := range r.Logs {
		if l.Offset < int64(len(l.Mark)) || l.Line < 0 || l.Next.Offset < 0 || l.Next.Line < 0 {
			return fmt.Errorf("no file can be read up to %d", l.Offset)
		}
	}
	c := r.Curves
	switch {
	case c.File.Size < int64(len(c.Unwritten)), c.Steps < 0:
		return fmt.Errorf("no file of curves can have %d bytes", c.File.Size)
	case r.Stride < 0, r.Skipped < 0, len(r.Samples) > 10*samplesKept, len(r.Rhythm.Gaps) > gapsKept:
		return errors.New("its samples make no sense")
	case len(r.Rounds) > 10*roundsKept, len(r.Logs) > 10*logsKept, len(r.Saved) > 10*savedKept:
		return errors.New("it has too much of something")
	case r.Policy.Restarts < 0, r.Forgotten.Runs < 0:
		return errors.New("its restarts make no sense")
	}
	return nil
}

// save writes a record down. Only then is what it says true.
func (k *Keeper) save(r *record) error {
	r.remember()
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write down what is known of job %d: %w", r.ID, err)
	}
	if err := whole.Write(k.path(r.ID), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write down what is known of job %d: %w", r.ID, err)
	}
	r.dirty = false
	return nil
}

// saveAll writes all records down that have changed.
func (k *Keeper) saveAll() error {
	var errs []error
	for _, r := range k.records {
		if r.dirty {
			errs = append(errs, k.save(r))
		}
	}
	k.saved = time.Now()
	return errors.Join(errs...)
}

const (
	// kept is how long a record stays after the end of its job, keptMost how many do.
	kept     = 7 * 24 * time.Hour
	keptMost = 1000
)

// forget removes the records of jobs that ended long ago.
func (k *Keeper) forget(now time.Time) {
	ended := 0
	for _, r := range k.records {
		if !r.active() {
			ended++
		}
	}
	for id, r := range k.records {
		age := now.Sub(r.Ended)
		if r.active() || age < kept && (ended <= keptMost || age < time.Hour) {
			continue
		}
		if err := os.Remove(k.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		delete(k.records, id)
	}
}
