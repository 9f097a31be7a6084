package container

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestStepIsJoined: a step's container without a name is found by the step's as long as
// it runs, and leaves nothing.
func TestStepIsJoined(t *testing.T) {
	fixture(t)
	for _, who := range holders {
		t.Run(who.name, func(t *testing.T) {
			state := stateDir(t)
			step := Options{Image: shared.plain, User: who.user, State: state, Writable: true, Name: Name{Job: "4"},
				Environ: []string{"SLURM_JOB_ID=4", "SLURM_STEP_ID=7"}}
			first := startHold(t, who.starter, step)
			if out, err := first.task("echo first >/f").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			entry := filepath.Join(state, itoa(who.user.UID), "4:4.7", "container.json")
			for !exists(entry) && t.Context().Err() == nil {
				pause()
			}
			byStep := Options{User: who.user, State: state, Name: Name{Name: "4.7", Flag: NameExec, Job: "4"}}
			second := startHold(t, who.starter, byStep)
			if second.fields[0] != "ok" || second.fields[1] != first.fields[1] || second.fields[3] != first.fields[3] {
				t.Fatalf("the second: %q", second.fields)
			}
			if out, err := second.task("cat /f").CombinedOutput(); err != nil || string(out) != "first\n" {
				t.Errorf("in the second: %v: %q", err, out)
			}
			if err := second.end(); err != nil {
				t.Error(err)
			}
			if out, err := first.task("cat /f").CombinedOutput(); err != nil || string(out) != "first\n" {
				t.Errorf("after the second: %v: %q", err, out)
			}
			if err := first.end(); err != nil {
				t.Error(err)
			}
			first.nothingLeft()
			if exists(filepath.Dir(entry)) {
				t.Error("its entry is left")
			}
			if late := startHold(t, who.starter, byStep); late.fields[0] != "error" {
				t.Errorf("afterwards: %q", late.fields)
			}
		})
	}
}

// TestStepThatWasKilled: what it leaves is taken for no container, and goes with the job.
func TestStepThatWasKilled(t *testing.T) {
	fixture(t)
	state := stateDir(t)
	first := startHold(t, super, Options{Image: shared.plain, User: ordinary, State: state, Name: Name{Job: "4"},
		Environ: []string{"SLURM_JOB_ID=4", "SLURM_STEP_ID=7"}})
	entry := filepath.Join(state, itoa(ordinary.UID), "4:4.7", "container.json")
	for !exists(entry) && t.Context().Err() == nil {
		pause()
	}
	_ = first.cmd.Process.Signal(syscall.SIGKILL)
	_ = first.end()
	first.nothingLeft()
	o := Options{Image: shared.trusted, User: ordinary, State: state, Name: Name{Name: "4.7", Flag: NameCreate, Job: "4"}}
	again := startHold(t, super, o)
	if again.fields[0] != "ok" {
		t.Errorf("its name: %q", again.fields)
	}
	if err := again.end(); err != nil {
		t.Error(err)
	}
	again.nothingLeft()
	if err := RemoveJob(super, state, "4", true); err != nil || exists(filepath.Dir(entry)) {
		t.Errorf("after the job: %v", err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
