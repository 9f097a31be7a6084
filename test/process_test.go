package test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a process of a cluster as the host sees it.
type process struct {
	pid, parent int
	name        string
	args        []string
}

// machineProcesses are all processes of the machine.
func machineProcesses() map[int]process {
	all := kin()
	for pid, p := range all {
		all[pid] = p.withArgs()
	}
	return all
}

// kin are the machine's processes without their arguments, which take long to read.
func kin() map[int]process {
	all := map[int]process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		begins, ends := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')') // a name may have any byte
		if err != nil || begins < 0 || ends < begins {
			continue // it has just ended
		}
		p := process{pid: pid, name: string(stat[begins+1 : ends])}
		if fields := bytes.Fields(stat[ends+1:]); len(fields) > 1 {
			p.parent, _ = strconv.Atoi(string(fields[1]))
		}
		all[pid] = p
	}
	return all
}

func (p process) withArgs() process {
	line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "cmdline"))
	p.args = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	return p
}

// anchor is the cluster's first process, 0 if it has none on record.
func (c *cluster) anchor() int {
	var a struct {
		PID int `json:"pid"`
	}
	data, err := os.ReadFile(c.path("anchor.json"))
	if err != nil || json.Unmarshal(data, &a) != nil {
		return 0
	}
	return a.PID
}

// processes are those below the anchor. Machines of other clusters have the same
// names, so nothing but descent tells whose a process is.
func (c *cluster) processes() []process {
	var mine []process
	all, anchor := kin(), c.anchor()
	for _, p := range all {
		for up := p; up.pid > 1; up = all[up.parent] {
			if up.parent == anchor && anchor != 0 {
				mine = append(mine, p.withArgs())
				break
			}
		}
	}
	return mine
}

// service is a daemon of the head node, 0 if it does not run now.
func (c *cluster) service(name string) int {
	for _, p := range c.processes() {
		// The controller is muster with that as its first argument.
		is := p.name == name || len(p.args) > 1 && p.args[1] == name
		if is && p.parent == c.anchor() {
			return p.pid
		}
	}
	return 0
}

// slurmd is the daemon of a node, 0 if it does not run now.
func (c *cluster) slurmd(node string) int {
	init := c.init(node)
	for _, p := range c.processes() {
		if p.parent == init && isSlurmd(p) {
			return p.pid
		}
	}
	return 0
}

// isSlurmd tells whether a process is slurmd. Debian 13's is called slurmd-wlm once it has read its configuration again.
func isSlurmd(p process) bool { return p.name == "slurmd" || p.name == "slurmd-wlm" }

// init is a node's first process, 0 if the node does not run.
func (c *cluster) init(node string) int {
	for _, p := range c.processes() {
		if i := slices.Index(p.args, "muster-node"); i >= 0 && i+1 < len(p.args) && p.args[i+1] == node {
			return p.pid
		}
	}
	return 0
}

// kill ends a process of the cluster at once.
func (c *cluster) kill(what string, pid int) {
	c.t.Helper()
	if pid == 0 {
		c.t.Fatalf("%s does not run", what)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		c.t.Fatalf("kill %s: %v", what, err)
	}
}

// killService ends a daemon of the head node and waits until a new one answers.
func (c *cluster) killService(name string) {
	c.t.Helper()
	old := c.service(name)
	c.kill(name, old)
	c.await("a new "+name+" is ready", 20*time.Second, func() bool {
		now := c.service(name)
		return now != 0 && now != old && c.ready(name)
	})
}

// ready tells whether the supervisor has a service for ready.
func (c *cluster) ready(name string) bool {
	var all []struct {
		Name, Phase string
	}
	data, err := os.ReadFile(c.path("run", "services.json"))
	if err != nil || json.Unmarshal(data, &all) != nil {
		return false
	}
	for _, s := range all {
		if s.Name == name {
			return s.Phase == "ready"
		}
	}
	return false
}

// nothingLeft fails the test if the machine has anything of the cluster's. It
// looks for itself, not at what `down` says.
func (c *cluster) nothingLeft() {
	c.t.Helper()
	dir := c.path()
	c.noProcessLeft()
	for _, file := range []string{"/proc/self/mountinfo", "/proc/net/unix"} {
		data, err := os.ReadFile(file)
		if err != nil {
			c.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, dir) {
				c.t.Errorf("left in %s: %s", file, line)
			}
		}
	}
	if _, err := os.Lstat(dir); err == nil {
		c.t.Errorf("%s is left", dir)
	}
}

// noProcessLeft fails the test if a process has to do with the run directory.
// They end a moment after their namespace's first process.
func (c *cluster) noProcessLeft() {
	c.t.Helper()
	c.await("no process is left", 5*time.Second, func() bool {
		for pid, p := range machineProcesses() {
			cwd, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
			if strings.Contains(strings.Join(p.args, " "), c.path()) || strings.HasPrefix(cwd, c.path()) {
				return false
			}
		}
		return true
	})
}
