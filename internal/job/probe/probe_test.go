package probe_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job/probe"
)

// A process that is stopped is told from those that sleep and compute, and other jobs' are left out.
func TestLook(t *testing.T) {
	begin := func(env string, words ...string) *exec.Cmd {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = []string{env, "RANK=3", "PATH=/usr/bin:/bin"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	stopped := begin("SLURM_JOB_ID=4711", "sleep", "100")
	busy := begin("SLURM_JOB_ID=4711", "sh", "-c", "while :; do :; done")
	others := begin("SLURM_JOB_ID=4712", "sleep", "100")
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	found := map[int]probe.Process{}
	for deadline := time.Now().Add(5 * time.Minute); found[stopped.Process.Pid].State != "T" || !found[busy.Process.Pid].Busy; {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v", found)
		}
		r, err := probe.Look(t.Context(), "/proc", 4711)
		if err != nil {
			t.Fatal(err)
		}
		clear(found)
		for _, p := range r.Processes {
			found[p.PID] = p
		}
	}
	if p := found[stopped.Process.Pid]; !p.Stands() || p.Busy || p.Rank != "3" || !strings.HasPrefix(p.Command, "sleep") {
		t.Errorf("got %+v", p)
	}
	if p, there := found[others.Process.Pid]; there || found[busy.Process.Pid].Stands() {
		t.Errorf("got %+v, %+v", p, found[busy.Process.Pid])
	}
	if _, there := found[os.Getpid()]; there {
		t.Error("it tells of itself")
	}
}
