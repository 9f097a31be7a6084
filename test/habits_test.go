package test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
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
