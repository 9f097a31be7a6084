package test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cut runs a command and kills it when a condition holds. It does not wait for
// one that ends before.
func (c *cluster) cut(holds func() bool, args ...string) {
	c.t.Helper()
	cmd := c.command(args...)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	limit := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ended:
			return
		case <-limit:
			c.t.Error("the moment to cut never came")
		case <-tick.C:
			continue
		}
		break
	}
	_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL) // it may have ended just now
	<-ended
}

func exists(path string) func() bool {
	return func() bool {
		_, err := os.Lstat(path)
		return err == nil
	}
}

// after is true from some time on.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().After(end) }
}

// TestUpCut kills `up` at every point that can be seen: the next `up` goes on, or
// `down` leaves nothing.
func TestUpCut(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(2))
	moments := []func() bool{
		exists(c.path("etc")), exists(c.path("etc", "munge", "munge.key")), exists(c.path("bin", "muster")), exists(c.path("cluster.json")),
		c.anchorRuns, exists(c.path("anchor.json")), exists(c.path("run", "services.json")), exists(c.path("state", "mysql", "new")),
		func() bool { return c.ready("munged") }, func() bool { return c.ready("slurmctld") },
	}
	for i, moment := range moments {
		t.Run(fmt.Sprint("moment_", i), func(t *testing.T) {
			c := c.as(t)
			c.cut(moment, "up", "--no-test", "cluster.yaml")
			if i%2 == 0 {
				c.must("up", "cluster.yaml")
			}
			c.must("down", "--delete-data", "--yes")
			c.nothingLeft()
		})
	}
}

// anchorRuns tells whether there is an anchor, on record or not.
func (c *cluster) anchorRuns() bool {
	for _, p := range machineProcesses() {
		if slices.Contains(p.args, "anchor") && slices.Contains(p.args, c.path()) {
			return true
		}
	}
	return false
}

// TestDownCut kills `down` half-way: the next one leaves nothing.
func TestDownCut(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(2))
	anchor := 0
	gone := func(name string) func() bool { return func() bool { return !exists(c.path(name))() } }
	moments := []func() bool{
		after(2 * time.Millisecond), func() bool { return syscall.Kill(anchor, 0) != nil }, gone("cluster.json"), gone("etc"), gone("state"),
	}
	for i, moment := range moments {
		t.Run(fmt.Sprint("moment_", i), func(t *testing.T) {
			c := c.as(t)
			c.must("up", "--no-test", "cluster.yaml")
			anchor = c.anchor()
			c.cut(moment, "down", "--delete-data", "--yes")
			c.end() // it may have come to its end before it was cut
		})
	}
}

// TestUpTwice runs two `up`s at once: one succeeds, the other is told to wait.
func TestUpTwice(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(2))
	first := c.command("up", "--no-test", "cluster.yaml")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	c.await("the first one is at work", 10*time.Second, func() bool { return c.locked() })
	r := c.run("up", "--no-test", "cluster.yaml")
	if want := "cluster whole is being changed by another muster; wait for it to end"; r.code != 1 || !strings.Contains(r.stderr, want) {
		t.Errorf("the second: exit code %d\n%s", r.code, r.stderr)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first: %v", err)
	}
	c.must("up", "cluster.yaml")
}

// locked tells whether somebody changes the cluster.
func (c *cluster) locked() bool {
	f, err := os.Open(c.path() + ".lock")
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// TestSideBySide runs two clusters of one file on a machine whose ports are taken.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	one := unmade(t, fileOf(2))
	for _, port := range []int{6817, 6818, 6819, 9000, 3306} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil { // else it is taken without us
			defer l.Close()
		}
	}
	other := *one
	other.name = "other"
	t.Cleanup(other.end)
	one.must("up", "cluster.yaml")
	other.must("up", "cluster.yaml")
	h := one.hold("here")
	there := other.hold("there")
	for _, c := range []*cluster{one, &other} {
		if out := c.head("squeue", "--noheader", "--format=%j"); out != map[string]string{"whole": "here\n", "other": "there\n"}[c.name] {
			t.Errorf("cluster %s has jobs %q", c.name, out)
		}
	}
	there.lives()
	other.must("down", "--delete-data", "--yes")
	other.nothingLeft()
	h.lives()
}

// TestNoSpace brings a cluster up where there is no room for it.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"4m", "100m"} {
		t.Run(size, func(t *testing.T) {
			c := unmade(t, fileOf(2))
			c.home = filepath.Join(c.home, "small")
			if err := os.Mkdir(c.home, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("tmpfs", c.home, "tmpfs", 0, "size="+size); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(c.home, 0); err != nil {
					t.Errorf("the run directory's file system is still in use: %v", err)
				}
			})
			t.Cleanup(c.end)
			r := c.run("up", "cluster.yaml")
			if r.code != 1 || !strings.Contains(r.stderr, "not enough space: "+c.home+" has ") {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
			if c.anchorRuns() {
				t.Error("processes run")
			}
		})
	}
}

// TestDown_without_records takes down a cluster whose anchor is on no record any more.
func TestDown_without_records(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(1))
	anchor := c.anchor()
	for _, text := range []string{"", "{"} {
		if err := os.WriteFile(c.path("anchor.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c.must("up", "--no-test", "cluster.yaml")
		if err := syscall.Kill(anchor, 0); err != nil {
			t.Fatalf("with the record %q, up lets the anchor %d end: %v", text, anchor, err)
		}
	}
	if err := os.Remove(c.path("anchor.json")); err != nil {
		t.Fatal(err)
	}
	if said := c.must("status"); !strings.Contains(said, "controller") {
		t.Errorf("status: %s", said)
	}
	c.must("down", "--delete-data", "--yes")
	if p := machineProcesses()[anchor]; len(p.args) > 1 { // one that has ended and that nobody has taken note of has none
		t.Errorf("the anchor %d runs on: %q", anchor, p.args)
	}
}

// TestDown_without_directory moves the run directory of a cluster that runs away: up refuses to begin another one beside it, status shows it,
// and down ends it.
func TestDown_without_directory(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(1))
	anchor := c.anchor()
	gone := filepath.Join(c.dir, "gone")
	if err := os.Rename(c.path(""), gone); err != nil {
		t.Fatal(err)
	}
	if r := c.run("up", "--no-test", "cluster.yaml"); r.code != 1 || !strings.Contains(r.stderr, "was deleted or moved: `muster down --cluster ") {
		t.Errorf("up: exit code %d\n%s", r.code, r.stderr)
	}
	if r := c.run("status"); r.code != 3 || !strings.Contains(r.stdout, "was deleted or moved: `muster down --cluster ") {
		t.Errorf("status: exit code %d\n%s", r.code, r.stdout)
	}
	c.must("down", "--delete-data", "--yes")
	if p := machineProcesses()[anchor]; len(p.args) > 1 {
		t.Errorf("the anchor %d runs on: %q", anchor, p.args)
	}
}
