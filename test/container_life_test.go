package test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sleeping is a step in a container that goes on until it is ended.
type sleeping struct {
	c     *cluster
	f     *following
	marks string
}

// sleepIn starts a step of sleeping tasks, and waits until they are in their container.
func (c *cluster) sleepIn(mark string, options ...string) *sleeping {
	c.t.Helper()
	line := append([]string{"exec", "--", "srun", "--job-name=" + mark, "--container-image=./x.sqsh", "--container-writable"}, options...)
	s := &sleeping{c: c, marks: mark, f: c.follow(append(line, "sh", "-c", "echo in; exec sleep 1000")...)}
	c.t.Cleanup(func() {
		_ = syscall.Kill(-s.f.cmd.Process.Pid, syscall.SIGKILL)
		c.run("exec", "--", "scancel", "--name="+mark)
	})
	s.f.until(c.t, "in")
	c.await("the step sleeps", 10*time.Second, func() bool { return len(s.tasks()) > 0 })
	return s
}

// gone waits until nothing of the step and its container is left on the nodes.
func (s *sleeping) gone() {
	s.c.t.Helper()
	s.c.await("the tasks have ended", 15*time.Second, func() bool { return len(s.tasks()) == 0 })
	s.c.noContainerLeft()
}

// ends cancels what is left of the step, and waits for srun's end, which is no success.
func (s *sleeping) ends() {
	s.c.t.Helper()
	s.c.run("exec", "--", "scancel", "--name="+s.marks)
	if _, code := s.f.end(); code == 0 {
		s.c.t.Errorf("the step of %s ended well:\n%s", s.marks, &s.f.stderr)
	}
	s.gone()
}

// tasks are the step's processes.
func (s *sleeping) tasks() []process {
	var tasks []process
	for _, p := range s.c.processes() {
		if p.name == "sleep" && len(p.args) == 2 && p.args[1] == "1000" {
			tasks = append(tasks, p)
		}
	}
	return tasks
}

// imageIsMounted: root's image by the kernel, one that others may write by a program
// without rights, and both without a copy.
func imageIsMounted(t *testing.T, c *cluster) {
	image := filepath.Join(c.dir, "x.sqsh")
	defer os.Chmod(image, 0o644)
	for mode, want := range map[os.FileMode][2]int{0o644: {1, 0}, 0o666: {0, 1}} {
		if err := os.Chmod(image, mode); err != nil {
			t.Fatal(err)
		}
		s := c.sleepIn("mounted")
		loops, programs := c.imageLoops(), c.containerProcesses("squashfuse")
		if got := [2]int{len(loops), len(programs)}; got != want {
			t.Errorf("an image of mode %o has %d loop devices and %d squashfuse", mode, got[0], got[1])
		}
		s.ends()
	}
}

func containerIsCancelled(_ *testing.T, c *cluster) {
	s := c.sleepIn("cancelled", "--nodes=2", "--ntasks=4")
	c.head("scancel", "--name=cancelled")
	s.gone()
	s.ends()
}

// importIsCancelled: nobody waits for an image whose step was cancelled.
func importIsCancelled(t *testing.T, c *cluster) {
	// No machine has this address, which the kernel notices after seconds.
	f := c.follow("exec", "--", "srun", "--job-name=importing", "--container-image=10.99.0.77:5000#absent", "hostname")
	c.await("the image is looked for", 20*time.Second, func() bool { return len(c.containerProcesses("hold")) > 0 })
	c.head("scancel", "--name=importing")
	since := time.Now()
	if _, code := f.end(); code == 0 {
		t.Errorf("srun ended well:\n%s", &f.stderr)
	}
	// A registry that does not answer is asked for five minutes.
	if took := time.Since(since); took > patience {
		t.Errorf("it took %s to end", took)
	}
	c.noContainerLeft()
}

// partiesAreKilled ends each process of a container's life at once.
func partiesAreKilled(t *testing.T, c *cluster) {
	// Others may write the image, so squashfuse is one of the parties.
	image := filepath.Join(c.dir, "x.sqsh")
	if err := os.Chmod(image, 0o666); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(image, 0o644)
	for party, find := range map[string]func(s *sleeping) []process{
		"a_task":      func(s *sleeping) []process { return s.tasks() },
		"slurmstepd":  func(s *sleeping) []process { return s.stepds() },
		"the_watcher": func(s *sleeping) []process { return c.containerProcesses("hold") },
		"squashfuse":  func(s *sleeping) []process { return c.containerProcesses("squashfuse", "squashfuse_ll") },
	} {
		t.Run(party, func(t *testing.T) {
			c := c.as(t)
			s := c.sleepIn("killed-" + strings.ReplaceAll(party, "_", "-"))
			found := find(s)
			if len(found) == 0 {
				t.Fatalf("there is no %s", party)
			}
			c.kill(party, found[0].pid)
			for _, p := range found[1:] { // those that did not go with the first
				if party == "the_watcher" {
					break // its guard takes its place
				}
				if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatal(err)
				}
			}
			if party != "the_watcher" { // without it, the tasks may go on
				s.gone()
			}
			if party != "slurmstepd" { // without it, srun waits long for nothing
				s.ends()
			}
			if got := c.srun("cat", "/etc/os-release"); got != "ID=tiny\n" {
				t.Errorf("the next step: %q", got)
			}
		})
	}
}

// stepds are the step's slurmstepd.
func (s *sleeping) stepds() []process {
	var all []process
	for _, task := range s.tasks() {
		for _, p := range s.c.processes() {
			if p.pid == task.parent && p.name == "slurmstepd" {
				all = append(all, p)
			}
		}
	}
	return all
}

// hostStaysWhole: containers of a node that is killed are gone with it, and the
// machine has no mount and no loop device of theirs.
func hostStaysWhole(t *testing.T, c *cluster) {
	s := c.sleepIn("lost", "--nodelist=gpu-dy-p5e-1")
	c.kill("the node", c.init("gpu-dy-p5e-1"))
	c.run("exec", "--", "scancel", "--name=lost")
	c.await("the tasks have ended", 10*time.Second, func() bool { return len(s.tasks()) == 0 })
	c.noContainerLeft()
	mounts, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getpid()) + "/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, "x.sqsh") || strings.Contains(line, "fuse.squashfuse") && strings.Contains(line, c.dir) {
			t.Errorf("left: %s", line)
		}
	}
}
