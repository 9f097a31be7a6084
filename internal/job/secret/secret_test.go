package secret_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/secret"
	"github.com/muster-hpc/muster/internal/slurm"
)

// queue are Slurm's jobs.
type queue struct {
	jobs   []slurm.Job
	unread []slurm.Problem
	fails  error
}

func (q *queue) Jobs(context.Context) ([]slurm.Job, []slurm.Problem, error) {
	return q.jobs, q.unread, q.fails
}

func (q *queue) Job(_ context.Context, id int) (slurm.Job, error) {
	for _, j := range q.jobs {
		if j.ID == id {
			return j, q.fails
		}
	}
	return slurm.Job{}, errors.Join(slurm.ErrNoJob, q.fails)
}

func open(t *testing.T, dir string, q *queue) *secret.Store {
	t.Helper()
	s, err := secret.Open(dir, q, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func values(text string) map[string][]byte { return map[string][]byte{"HF_TOKEN": []byte(text)} }

const mine, theirs = 1000, 1001

// TestStore_gives_secrets_to_their_job_alone, and goes on doing so when it is opened anew.
func TestStore_gives_secrets_to_their_job_alone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	q := &queue{jobs: []slurm.Job{
		{ID: 1, UID: mine, State: "PENDING"}, {ID: 2, UID: mine, State: "PENDING"}, {ID: 3, UID: theirs, State: "RUNNING"},
		{ID: 4, UID: mine, ArrayJobID: 4, State: "PENDING"},
	}}
	s := open(t, dir, q)
	for _, id := range []int{1, 4} {
		if err := s.Keep(t.Context(), id, mine, values("xyz\xff")); err != nil {
			t.Fatal(err)
		}
	}
	for _, caller := range []int{mine, -1} {
		if err := s.Keep(t.Context(), 3, caller, values("forged")); !errors.Is(err, client.ErrNotTheirs) {
			t.Errorf("user %d keeps secrets for another's job: %v", caller, err)
		}
	}
	if err := s.Keep(t.Context(), 1, mine, values(strings.Repeat("x", 1<<20))); err == nil {
		t.Error("a million bytes are kept")
	}
	q.jobs[0].State, q.jobs[1].State = "RUNNING", "RUNNING"
	q.jobs[3] = slurm.Job{ID: 5, UID: mine, ArrayJobID: 4, State: "RUNNING"}
	s = open(t, dir, q)
	for _, id := range []int{1, 5} {
		if got, err := s.Give(t.Context(), mine, id); err != nil || string(got["HF_TOKEN"]) != "xyz\xff" {
			t.Errorf("job %d: got %q, %v", id, got, err)
		}
	}
	for name, ask := range map[string]struct{ uid, id int }{
		"another_user": {theirs, 1}, "root": {0, 1}, "a_forged_job": {theirs, 3}, "a_job_without": {mine, 2}, "no_job": {mine, 9},
	} {
		if got, err := s.Give(t.Context(), ask.uid, ask.id); !errors.Is(err, join.ErrNotGiven) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for state, final := range map[string]bool{"PENDING": false, "COMPLETING": false, "FAILED": true, "COMPLETED": true} {
		q.jobs[0].State = state
		if got, err := s.Give(t.Context(), mine, 1); err == nil || errors.Is(err, join.ErrNotGiven) != final {
			t.Errorf("%s: got %q, %v", state, got, err)
		}
	}
	q.jobs[0] = slurm.Job{ID: 1, UID: theirs, State: "RUNNING"} // Slurm has begun anew
	if got, err := s.Give(t.Context(), theirs, 1); !errors.Is(err, join.ErrNotGiven) {
		t.Errorf("the next user of the number: got %q, %v", got, err)
	}
}

// TestStore_is_closed: nobody but its owner reads it, and what a killed writer left goes.
func TestStore_is_closed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, ".1.json-123")
	if err := os.WriteFile(left, []byte("xyz"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, &queue{jobs: []slurm.Job{{ID: 1, UID: mine}}})
	if err := s.Keep(t.Context(), 1, mine, values("xyz")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "1.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed writer left is still there")
	}
}

// TestStore_Sweep deletes what no job can need any more.
func TestStore_Sweep(t *testing.T) {
	for name, row := range map[string]struct {
		jobs   []slurm.Job
		unread []slurm.Problem
		fails  error
		stays  bool
	}{
		"waits":               {jobs: []slurm.Job{{ID: 1, State: "PENDING"}}, stays: true},
		"runs":                {jobs: []slurm.Job{{ID: 1, State: "RUNNING"}}, stays: true},
		"may_be_queued_again": {jobs: []slurm.Job{{ID: 1, State: "FAILED"}}, stays: true},
		"is_queued_again":     {jobs: []slurm.Job{{ID: 1, State: "CANCELLED", Again: true}}, stays: true},
		"cleans_up":           {jobs: []slurm.Job{{ID: 1, State: "COMPLETING"}}, stays: true},
		"a_task_is_left":      {jobs: []slurm.Job{{ID: 1, ArrayJobID: 1, State: "COMPLETED"}, {ID: 2, ArrayJobID: 1, State: "RUNNING"}}, stays: true},
		"all_tasks_are_done":  {jobs: []slurm.Job{{ID: 1, ArrayJobID: 1, State: "COMPLETED"}, {ID: 2, ArrayJobID: 1, State: "CANCELLED"}}},
		"completed":           {jobs: []slurm.Job{{ID: 1, State: "COMPLETED"}}},
		"cancelled":           {jobs: []slurm.Job{{ID: 1, State: "CANCELLED"}}},
		"forgotten":           {jobs: []slurm.Job{{ID: 2, State: "RUNNING"}}},
		"slurm_is_silent":     {fails: errors.New("no answer"), stays: true},
		"is_hidden":           {unread: []slurm.Problem{{Text: "odd", Job: 1, ArrayJob: 1}}, stays: true},
		"a_task_is_hidden":    {jobs: []slurm.Job{{ID: 1, ArrayJobID: 1, State: "COMPLETED"}}, unread: []slurm.Problem{{Job: 2, ArrayJob: 1}}, stays: true},
		"another_is_hidden":   {jobs: []slurm.Job{{ID: 1, State: "COMPLETED"}}, unread: []slurm.Problem{{Text: "odd"}, {Job: 2, ArrayJob: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			q := &queue{jobs: []slurm.Job{{ID: 1, UID: mine}}}
			s := open(t, dir, q)
			if err := s.Keep(t.Context(), 1, mine, values("xyz")); err != nil {
				t.Fatal(err)
			}
			q.jobs, q.unread, q.fails = row.jobs, row.unread, row.fails
			if err := s.Sweep(t.Context()); (err != nil) != (row.fails != nil || row.unread != nil && row.stays) {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "1.json")); (err == nil) != row.stays {
				t.Errorf("stays: %v", err == nil)
			}
		})
	}
}
