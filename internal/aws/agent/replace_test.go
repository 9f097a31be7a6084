package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// replaceAgent kills the agent of a machine and starts another, which finds everything
// as it was: what the agent keeps running goes on without it.
func (c *cloud) replaceAgent(t *testing.T, host string) {
	t.Helper()
	agent, before := processOf(t, host, "agent\x00--ticket"), processOf(t, host, "sbin/slurmctld\x00")
	parent, err := os.ReadFile("/proc/" + agent + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	init := strings.Fields(string(parent[strings.LastIndex(string(parent), ")"):]))[2]
	// The first process starts another program when the agent ends, and has no environment for a moment then.
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}
	for line := range strings.SplitSeq(readFile(t, "/proc/"+init+"/environ"), "\x00") {
		if strings.HasPrefix(line, "AWS_") {
			env = append(env, line)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "kill", "-9", agent).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "nsenter", "--target="+init, "--mount", "--uts", "--ipc", "--net", "--pid",
		"/opt/muster/bin/muster", "agent", "--ticket", "/etc/muster/ticket.json")
	cmd.Env = env
	said := filepath.Join(t.TempDir(), "said")
	out, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the other agent said %s", readFile(t, said))
		}
	})
	again := time.Now()
	c.await(t, "ready with another agent", time.Minute, func() bool {
		s := c.head()
		return s.At.After(again) && s.Phase == manifest.Ready
	})
	if after := processOf(t, host, "sbin/slurmctld\x00"); after != before {
		t.Errorf("slurmctld was process %s, and is %s: it did not go on", before, after)
	}
	for _, s := range c.head().Steps {
		if s.Name == "run OnNodeConfigured" && !strings.HasPrefix(s.Detail, "ran before") {
			t.Errorf("%s: %s", s.Name, s.Detail)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// processOf finds a machine's oldest process with a part in its command line: what a daemon
// forks has the same one for a moment.
func processOf(t *testing.T, host, part string) string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	oldest, began := "", 0
	for _, dir := range all {
		line, err := os.ReadFile(dir + "/cmdline")
		if err != nil || !strings.Contains(string(line), part) {
			continue
		}
		name, err := os.ReadFile(dir + "/root/etc/hostname")
		if err != nil || strings.TrimSpace(string(name)) != host {
			continue
		}
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // it has ended
		}
		start, err := strconv.Atoi(strings.Fields(string(stat[strings.LastIndex(string(stat), ")"):]))[20])
		if err != nil {
			t.Fatal(err)
		}
		if oldest == "" || start < began {
			oldest, began = filepath.Base(dir), start
		}
	}
	if oldest == "" {
		t.Fatalf("%s has no process %q", host, part)
	}
	return oldest
}
