package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// typed is a shell with lines as a user types them in the working directory, where muster
// is in PATH and leads to the cluster.
func (c *cluster) typed(script string) *exec.Cmd {
	line := append(append([]string{}, c.become...), "bash", "-c", `muster() { "$0" "$@"; }; `+script, c.muster)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "MUSTER_HOME="+c.home, "MUSTER_CLUSTER="+c.name, plainPath)
	return cmd
}

// types runs what is typed to its end.
func (c *cluster) types(script string) result {
	c.t.Helper()
	cmd := c.typed(script)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// jobHasWhatIsActive: what somebody has activated in the directory that nodes see reaches his jobs, and what they do not
// see is said.
func jobHasWhatIsActive(t *testing.T, c *cluster) {
	elsewhere, err := os.MkdirTemp("", "muster-elsewhere-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(elsewhere) })
	if err := os.Chmod(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	c.file("active.sbatch", `#!/bin/bash
srun --ntasks=1 python -c 'import os, sys, lib; print(sys.prefix, lib.__file__, os.environ["VIRTUAL_ENV"])'
echo "$LD_LIBRARY_PATH"
command -v sbatch
`)
	r := c.types(`python3 -m venv --without-pip venv && mkdir -p lib && echo >lib/lib.py && . venv/bin/activate &&
		export PYTHONPATH=$PWD/lib LD_LIBRARY_PATH=$PWD/lib PATH=$PATH:` + elsewhere + ` &&
		muster run active.sbatch && muster exec -- python -c 'import sys; print(sys.prefix)' && muster exec -- true`)
	venv := c.dir + "/venv"
	want := venv + " " + c.dir + "/lib/lib.py " + venv + "\n" + c.dir + "/lib\n/usr/bin/sbatch\n" + venv + "\n"
	if r.code != 0 || r.stdout != want {
		t.Errorf("exit code %d, got %q, want %q\n%s", r.code, r.stdout, want, r.stderr)
	}
	// run says it, then exec, once.
	if said := "muster: not carried over: PATH " + elsewhere + " (nodes see "; strings.Count(r.stderr, said) != 2 || !strings.HasPrefix(r.stderr, said) {
		t.Errorf("stderr: %s", r.stderr)
	}
}

// findsWhatIsInstalledLater: what is installed on the host while the cluster runs is found on its machines, although they
// have looked for it before.
func findsWhatIsInstalledLater(t *testing.T, c *cluster) {
	test, _, _ := strings.Cut(t.Name(), "/") // another may look for the same on another cluster
	name := "muster-later-" + test + strconv.Itoa(os.Getpid())
	script := "command -v " + name + "; srun --ntasks=1 sh -c 'command -v " + name + "'; true"
	if got := c.head("sh", "-c", script); got != "" {
		t.Fatalf("it is there already: %s", got)
	}
	place := "/usr/local/bin/" + name
	t.Cleanup(func() { _ = os.Remove(place) })
	// Who is on a machine need not leave it.
	waits := c.command("exec", "--", "sh", "-c", "! command -v "+name+" && touch looked && until command -v "+name+"; do sleep 0.1; done")
	var out bytes.Buffer
	waits.Stdout = &out
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- waits.Wait() }()
	c.await("somebody on the head node", patience, exists(filepath.Join(c.dir, "looked")))
	if err := os.WriteFile(place, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil || out.String() != place+"\n" {
			t.Errorf("%v, %q", err, &out)
		}
	case <-time.After(patience):
		_ = waits.Process.Kill()
		<-ended
		t.Error("who is on the head node does not find it")
	}
	if got, want := c.head("sh", "-c", script), place+"\n"+place+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
