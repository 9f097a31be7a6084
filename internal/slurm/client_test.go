package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// programs answers in the place of Slurm's programs, and keeps what it was
// asked.
type programs struct {
	asked  []string
	stdout string
	stderr string
}

func (p *programs) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	p.asked = append(p.asked, strings.Join(append([]string{name}, args...), " "))
	if p.stderr != "" {
		return []byte(p.stdout), NewProgramError(ctx, name, p.stderr, errors.New("exit status 1"))
	}
	return []byte(p.stdout), nil
}

func TestClientAsks(t *testing.T) {
	nodes := []string{"q-dy-x-2", "q-dy-x-1", "q-st-x-1"}
	cases := map[string]struct {
		do   func(context.Context, Client) error
		want string
	}{
		"update": {func(ctx context.Context, c Client) error {
			return c.UpdateNodes(ctx, nodes, "DOWN", "no\ncapacity \"here\"")
		}, "scontrol update NodeName=q-dy-x-[1-2],q-st-x-1 State=DOWN Reason=no capacity 'here'"},
		"update_alone": {func(ctx context.Context, c Client) error { return c.UpdateNodes(ctx, nodes, "RESUME", "") }, "scontrol update NodeName=q-dy-x-[1-2],q-st-x-1 State=RESUME"},
		"requeue":      {func(ctx context.Context, c Client) error { return c.Requeue(ctx, "7") }, "scontrol requeue 7"},
		"cancel":       {func(ctx context.Context, c Client) error { return c.Cancel(ctx, "9_3") }, "scancel 9_3"},
		"cancel_named": {func(ctx context.Context, c Client) error { return c.CancelNamed(ctx, "test") }, "scancel --quiet --name=test"},
		"shutdown":     {func(ctx context.Context, c Client) error { return c.Shutdown(ctx) }, "scontrol shutdown slurmctld"},
		"nodes":        {func(ctx context.Context, c Client) error { _, err := c.Nodes(ctx); return err }, "scontrol --oneliner --all --detail show node"},
		"partitions":   {func(ctx context.Context, c Client) error { _, err := c.Partitions(ctx); return err }, "scontrol --oneliner --all show partition"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &programs{}
			if err := c.do(t.Context(), Client{Runner: p}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want}, p.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUpdateNodesSplitsLongLists(t *testing.T) {
	var names []string
	for i := range 9000 {
		names = append(names, fmt.Sprintf("%s%d-x", "node-with-a-long-name-", i))
	}
	p := &programs{}
	if err := (Client{Runner: p}).UpdateNodes(t.Context(), names, "DOWN", "gone"); err != nil {
		t.Fatal(err)
	}
	var updated []string
	for _, command := range p.asked {
		if len(command) > 2*maxListLength {
			t.Errorf("a command of %d bytes", len(command))
		}
		list, _, _ := strings.Cut(strings.TrimPrefix(command, "scontrol update NodeName="), " ")
		expanded, err := Expand(list)
		if err != nil {
			t.Fatal(err)
		}
		updated = append(updated, expanded...)
	}
	if len(p.asked) < 2 || !sameNames(names, updated) {
		t.Errorf("%d commands for %d of %d names", len(p.asked), len(updated), len(names))
	}
	if err := (Client{}).UpdateNodes(t.Context(), nil, "DOWN", "nobody"); err != nil {
		t.Errorf("no names: %v", err)
	}
}

// complaints are what the programs of Slurm 22.05 and others say.
func TestClientErrors(t *testing.T) {
	cases := map[string]struct {
		stderr string
		want   error
	}{
		"unreachable":    {"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", ErrUnreachable},
		"timed_out":      {"slurm_load_jobs error: Socket timed out on send/recv operation\n", ErrUnreachable},
		"database":       {"sacct: error: Problem talking to the database: Connection refused\n", ErrUnreachable},
		"no_job":         {"slurm_load_jobs error: Invalid job id specified\n", ErrNoJob},
		"no_job_requeue": {"Invalid job id specified for job 999\n", ErrNoJob},
		"ended":          {"scancel: error: Kill job error on job id 7: Job/step already completing or completed\n", errJobEnded},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := Client{Runner: &programs{stderr: "a warning\n" + c.stderr}}.Jobs(t.Context())
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if want := "scontrol: " + strings.TrimSpace(c.stderr); err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
		})
	}
}

func TestClientForgives(t *testing.T) {
	ended := Client{Runner: &programs{stderr: "scancel: error: Kill job error on job id 7: Job/step already completing or completed"}}
	if err := ended.Cancel(t.Context(), "7"); err != nil {
		t.Errorf("cancel a job that ended: %v", err)
	}
	pending := Client{Runner: &programs{stderr: "Job is pending execution for job 1"}}
	if err := pending.Requeue(t.Context(), "1"); err != nil {
		t.Errorf("requeue a pending job: %v", err)
	}
}

func TestClientReads(t *testing.T) {
	client := Client{Runner: &programs{stdout: string(sample(t, "slurm-22.05.8", "scontrol-show-job-oneliner.txt"))}, Location: time.UTC}
	job, err := client.Job(t.Context(), 7)
	if err != nil || job.Name != "llama3-70b" {
		t.Errorf("got %+v, %v", job, err)
	}
	if _, err := client.Job(t.Context(), 999); !errors.Is(err, ErrNoJob) {
		t.Errorf("got %v, want %v", err, ErrNoJob)
	}
	bad := Client{Runner: &programs{stdout: "NodeName=a State=IDLE\nNodeName=b CPUTot=x State=IDLE\n"}}
	if nodes, err := bad.Nodes(t.Context()); err == nil {
		t.Errorf("half a picture was taken for whole: %v", nodes)
	}
}

func TestPing(t *testing.T) {
	if err := (Client{Runner: &programs{stdout: "Slurmctld(primary) at vm is UP\n"}}).Ping(t.Context()); err != nil {
		t.Error(err)
	}
	down := &programs{stdout: "Slurmctld(primary) at head is DOWN\n", stderr: " "}
	if err := (Client{Runner: down}).Ping(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want %v", err, ErrUnreachable)
	}
}

func TestHistoryAsks(t *testing.T) {
	p := &programs{stdout: historyFields}
	since := at(t, "2026-11-20T20:00:00Z")
	_, _, err := Client{Runner: p, Location: time.FixedZone("CET", 3600)}.History(t.Context(), Window{Since: since, Jobs: []int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--starttime=2026-11-20T21:00:00", "--jobs=1,2", "--duplicates"} {
		if !strings.Contains(p.asked[0], want) {
			t.Errorf("%q lacks %q", p.asked[0], want)
		}
	}
}

func TestSubmit(t *testing.T) {
	p := &programs{stdout: "sbatch: warning\n123;cluster\n"}
	id, err := Client{Runner: p}.Submit(t.Context(), SubmitOptions{
		Script: "train.sbatch", Args: []string{"--steps", "9"}, Dir: "/w", Env: []string{"A=b c"}, Unset: []string{"TOKEN"}, Flags: []string{"--hold"},
	})
	if err != nil || id != 123 {
		t.Fatalf("got %d, %v", id, err)
	}
	if want := "env --unset=TOKEN A=b c sbatch --parsable --chdir=/w --hold train.sbatch --steps 9"; p.asked[0] != want {
		t.Errorf("got %q, want %q", p.asked[0], want)
	}
	for _, said := range []string{"", "Submitted batch job 7", "-1"} {
		if id, err := (Client{Runner: &programs{stdout: said}}).Submit(t.Context(), SubmitOptions{Script: "x"}); err == nil {
			t.Errorf("%q was taken for job %d", said, id)
		}
	}
}

// script writes a program into a folder of its own and returns the folder.
func script(t *testing.T, name, body string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestExec(t *testing.T) {
	dir := script(t, "scontrol", "echo $LC_ALL $SLURM_TIME_FORMAT $SLURM_CONF $EXTRA\n")
	out, err := Exec{Conf: "/c/slurm.conf", Env: []string{"EXTRA=x"}}.Run(t.Context(), filepath.Join(dir, "scontrol"))
	if err != nil || string(out) != "C standard /c/slurm.conf x\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestExecError(t *testing.T) {
	dir := script(t, "scontrol", "echo part; yes complaint | head -c 300000 >&2; echo 'x error: Invalid job id specified' >&2; exit 3\n")
	out, err := Exec{}.Run(t.Context(), filepath.Join(dir, "scontrol"), "show", "job", "7")
	if !errors.Is(err, ErrNoJob) || string(out) != "part\n" {
		t.Errorf("got %q, %v", out, err)
	}
	e, ok := errors.AsType[*ProgramError](err)
	if !ok || len(e.Stderr) > 64<<10 || !strings.HasSuffix(err.Error(), "x error: Invalid job id specified") {
		t.Errorf("got %.200q", err)
	}
	if _, err := (Exec{}).Run(t.Context(), filepath.Join(dir, "absent")); err == nil || errors.Is(err, ErrNoJob) {
		t.Errorf("an absent program: %v", err)
	}
}

func TestExecEnds(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("took too long"))
	defer cancel()
	_, err := Exec{}.Run(ctx, "sleep", "60")
	if err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("got %v", err)
	}
}
