package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// aFile is a cluster file up to its queues.
const aFile = `Region: us-east-1
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c6i.4xlarge
  Networking: {SubnetId: subnet-12345678}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
`

// fileOf is a cluster file with a queue of up to so many nodes.
func fileOf(most int) string {
	return aFile + fmt.Sprintf(`  - Name: gpu
    Networking: {SubnetIds: [subnet-12345678]}
    ComputeResources:
    - {Name: p5e, InstanceType: p5e.48xlarge, MinCount: 0, MaxCount: %d}
`, most)
}

// programsVar names the folder with the programs, if they are built already.
const programsVar = "MUSTER_PROGRAMS"

// scratch is a folder for what all tests share, which ordinary users may read. TestMain removes it.
var scratch = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "muster-whole-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
})

// programs is the folder with muster and muster-stand as they are now.
var programs = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(programsVar); dir != "" {
		return dir, nil
	}
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	for name, of := range map[string][2]string{"muster": {"..", "./cmd/muster"}, "muster-stand": {"../stand", "."}} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), of[1])
		build.Dir, build.Env = of[0], append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

// atOnce is how many tests run at the same time: they wait much and compute little.
const atOnce = 6

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	takeDownWhenStopped()
	code := m.Run()
	removeScratch()
	os.Exit(code)
}

func removeScratch() {
	if dir, err := scratch(); err == nil {
		_ = os.RemoveAll(dir)
	}
}

// lacks says what the machine lacks for these tests.
func lacks() string {
	if os.Getuid() != 0 {
		return "root"
	}
	for _, program := range []string{"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/slurmdbd", "/usr/sbin/munged", "/usr/sbin/mariadbd"} {
		if _, err := os.Stat(program); err != nil {
			return program
		}
	}
	return ""
}

// need skips a test that the machine cannot run. In CI it fails.
func need(t *testing.T) {
	t.Helper()
	if what := lacks(); what != "" && os.Getenv("MUSTER_CI") != "" {
		t.Fatalf("this machine lacks %s", what)
	} else if what != "" {
		t.Skipf("this machine lacks %s", what)
	}
}

// cluster is a cluster of a test's own, with a directory to work in.
type cluster struct {
	t      *testing.T
	muster string
	name   string
	home   string
	dir    string
	// become is the start of a command line that goes on as an ordinary user.
	become []string
}

// newCluster brings a cluster up. It is taken down when the test ends, which
// fails if anything is left.
func newCluster(t *testing.T, file string) *cluster {
	t.Helper()
	c := unmade(t, file)
	c.must("up", "--no-test", "cluster.yaml")
	return c
}

// unmade is a cluster that is not up yet.
func unmade(t *testing.T, file string) *cluster {
	t.Helper()
	need(t)
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, muster: filepath.Join(dir, "muster"), name: "whole", home: t.TempDir(), dir: t.TempDir()}
	c.file("cluster.yaml", file)
	stand.add(c)
	t.Cleanup(c.end)
	return c
}

// end takes the cluster down and looks for what is left of it.
func (c *cluster) end() {
	c.t.Helper()
	if c.t.Failed() {
		c.showLogs()
	}
	if r := c.run("down", "--delete-data", "--yes"); r.code != 0 && !strings.Contains(r.stderr, "there is no cluster "+c.name) {
		c.t.Errorf("down: exit code %d\n%s", r.code, r.stderr)
	}
	c.nothingLeft()
	stand.remove(c)
}

// showLogs shows how the cluster's daemons ended up, for who looks at a failure.
func (c *cluster) showLogs() {
	logs, _ := filepath.Glob(filepath.Join(c.home, c.name, "log", "*"))
	nodes, _ := filepath.Glob(filepath.Join(c.home, c.name, "log", "nodes", "*"))
	logs = append(logs, nodes...)
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			continue // a folder
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		c.t.Logf("%s:\n%s", filepath.Base(log), strings.Join(lines[max(0, len(lines)-12):], "\n"))
	}
}

// as is the cluster for another test.
func (c *cluster) as(t *testing.T) *cluster {
	mine := *c
	mine.t = t
	return &mine
}

// each runs tests that share the cluster.
func (c *cluster) each(tests map[string]func(*testing.T, *cluster)) {
	for name, try := range tests {
		c.t.Run(name, func(t *testing.T) { try(t, c.as(t)) })
	}
}

// path is a file of the cluster's run directory.
func (c *cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.home, c.name}, elem...)...)
}

// file writes a file of the working directory.
func (c *cluster) file(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// read reads a file of the working directory, empty if there is none.
func (c *cluster) read(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return string(data)
}

// plainPath has nothing that nodes do not see, of which muster would speak.
const plainPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (c *cluster) command(args ...string) *exec.Cmd {
	line := append(append(append([]string{}, c.become...), c.muster, "--cluster", c.name), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "MUSTER_HOME="+c.home, plainPath)
	return cmd
}

// result is how a command ended and what it printed.
type result struct {
	code           int
	stdout, stderr string
}

func (c *cluster) run(args ...string) result {
	c.t.Helper()
	var out, errOut bytes.Buffer
	cmd := c.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// must runs a command that succeeds, and returns its answer.
func (c *cluster) must(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	if r.code != 0 {
		c.t.Fatalf("muster %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// head runs a program that succeeds on the head node, and returns its output.
func (c *cluster) head(args ...string) string {
	c.t.Helper()
	return c.must(append([]string{"exec", "--"}, args...)...)
}

// node runs a shell script on a node.
func (c *cluster) node(name, script string) result {
	c.t.Helper()
	return c.run("exec", "--node", name, "--", "sh", "-c", script)
}

// shownNode is what the tests look at in `nodes -o json`.
type shownNode struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	PID     int    `json:"pid"`
	CPUs    int    `json:"cpus"`
	Memory  int    `json:"memory_mib"`
	GPUs    int    `json:"gpus"`
	Address string `json:"address"`
	Reason  string `json:"reason"`
}

func (c *cluster) nodes() map[string]shownNode {
	c.t.Helper()
	var answer struct {
		Nodes []shownNode `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(c.must("nodes", "-o", "json")), &answer); err != nil {
		c.t.Fatal(err)
	}
	nodes := map[string]shownNode{}
	for _, n := range answer.Nodes {
		nodes[n.Name] = n
	}
	return nodes
}

// patience is how long anything may take that comes at all: a busy machine is slow, and nothing is the matter with it.
const patience = 3 * time.Minute

// await waits until something holds, and fails the test if it does not in time, which is never less than patience.
func (c *cluster) await(what string, limit time.Duration, holds func() bool) {
	c.t.Helper()
	limit = max(limit, patience)
	began, end := time.Now(), time.After(limit)
	for !holds() {
		// What takes long is looked at more seldom, so that looking does not make it take longer.
		pause := min(max(20*time.Millisecond, time.Since(began)/10), 400*time.Millisecond)
		select {
		case <-end:
			c.t.Fatalf("after %s still not: %s", limit, what)
		case <-time.After(pause):
		}
	}
}
