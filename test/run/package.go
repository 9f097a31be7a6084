package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// packageRun is one package's tests while they run and when they have ended.
type packageRun struct {
	tested
	began    time.Time
	took     time.Duration
	passed   int
	skipped  []string // why
	failures []failure

	mu      sync.Mutex // guards what follows, and passed, skipped and failures while the tests run
	current map[string]time.Time
	output  map[string]*bytes.Buffer
}

// failure is a test that failed and what it printed.
type failure struct{ name, output string }

// event is a line of test2json: https://pkg.go.dev/cmd/test2json
type event struct{ Action, Test, Output string }

func newPackageRun(p tested) *packageRun {
	return &packageRun{tested: p, began: time.Now(), current: map[string]time.Time{}, output: map[string]*bytes.Buffer{}}
}

// run starts the package's tests and reads what becomes of them.
func (r *packageRun) run(ctx context.Context, programs string, o options) {
	args := []string{"-p", r.path, r.binary, "-test.v=test2json", "-test.paniconexit0", "-test.timeout=60m", "-test.fullpath=false"}
	if args = append(args, "-test.skip=^TestSoak_"); o.soak {
		args[len(args)-1] = "-test.run=^TestSoak_"
	}
	if o.shuffle {
		args = append(args, "-test.shuffle=on")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(programs), "test2json"), args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "MUSTER_PROGRAMS="+programs)
	if o.soak {
		cmd.Env = append(cmd.Env, "MUSTER_SOAK=1")
	}
	// Tests take down what they have started when they are told to end, and we wait for that.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		r.read(bufio.NewReader(out))
		err = cmd.Wait()
	}
	r.took = time.Since(r.began)
	if err != nil && len(r.failures) == 0 {
		r.failures = append(r.failures, failure{"(" + err.Error() + ")", r.printed("") + stderr.String()})
	}
}

// read takes in the events of test2json until they end.
func (r *packageRun) read(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.take(e)
		}
		if err != nil {
			break
		}
	}
	// A test that has not ended is one that took the whole program with it.
	for _, name := range slices.Sorted(keys(r.current)) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(r.current)), func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			r.failures = append(r.failures, failure{name + " (did not end)", r.printed(name) + r.printed("")})
		}
	}
}

func (r *packageRun) take(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Action {
	case "run":
		r.current[e.Test] = time.Now()
	case "output":
		if r.output[e.Test] == nil {
			r.output[e.Test] = &bytes.Buffer{}
		}
		r.output[e.Test].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			return
		}
		delete(r.current, e.Test)
		switch e.Action {
		case "pass":
			r.passed++
		case "skip":
			r.skipped = append(r.skipped, reason(r.printed(e.Test)))
		case "fail":
			r.failures = append(r.failures, failure{e.Test, r.printed(e.Test)})
		}
		delete(r.output, e.Test)
	}
}

// printed is what a test has printed, and without a name the package outside of its tests.
func (r *packageRun) printed(test string) string {
	if r.output[test] == nil {
		return ""
	}
	return r.output[test].String()
}

var (
	frame  = regexp.MustCompile(`^\s*(=== |--- )`)
	source = regexp.MustCompile(`^\s*\S+\.go:\d+: `)
)

// reason is why a test was skipped: the last line that it printed itself.
func reason(output string) string {
	why := "it does not say why"
	for line := range strings.Lines(output) {
		if line = strings.TrimRight(line, "\n"); !frame.MatchString(line) && strings.TrimSpace(line) != "" {
			why = source.ReplaceAllString(line, "")
		}
	}
	return why
}

// at names the tests that are running, the longest first.
func (r *packageRun) at() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name := range r.current {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(r.current[a].Compare(r.current[b]), cmp.Compare(a, b)) })
	if len(names) > 4 {
		names = append(names[:4], fmt.Sprintf("and %d more", len(names)-4))
	}
	return strings.Join(names, ", ")
}

func (r *packageRun) outcome() string {
	if len(r.failures) > 0 {
		return "FAIL"
	}
	return "ok"
}

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
