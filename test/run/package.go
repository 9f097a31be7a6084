package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	whole    bool // it came to its end, which says that all went well
	passed   int
	skipped  []string // why
	failures []failure

	mu      sync.Mutex           // guards what follows, and passed, skipped and failures while the tests run
	current map[string]time.Time // since when each test that has not ended runs; zero for one that waits for its turn
	output  map[string]*bytes.Buffer
}

// failure is a test that failed and what it printed.
type failure struct{ name, output string }

// event is a line of test2json: https://pkg.go.dev/cmd/test2json
type event struct{ Action, Test, Output string }

func newPackageRun(p tested) *packageRun {
	return &packageRun{tested: p, began: time.Now(), current: map[string]time.Time{}, output: map[string]*bytes.Buffer{}}
}

// How long tests may take to end after they are told to, and what they have started after they have ended.
const (
	endLimit  = 2 * time.Minute
	restLimit = 10 * time.Second
)

// run starts the package's tests and reads what becomes of them. When ctx ends, they are told to end, take down what they have started, and
// are waited for. What they leave running is killed; if it keeps their output open, that is a failure.
func (r *packageRun) run(ctx context.Context, programs string, o options) {
	tests := exec.Command(r.binary, r.arguments(o)...)
	tests.Dir = r.dir
	tests.Env = append(os.Environ(), "MUSTER_PROGRAMS="+programs)
	if o.soak {
		tests.Env = append(tests.Env, "MUSTER_SOAK=1")
	}
	tests.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a group of their own, which can be ended whole
	events := exec.Command(filepath.Join(filepath.Dir(programs), "test2json"), "-p", r.path)
	events.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := r.runThroughTest2json(ctx, tests, events)
	r.took = time.Since(r.began)
	switch {
	case err != nil && len(r.failures) == 0 || err != nil && tests.ProcessState != nil && !tests.ProcessState.Exited():
		r.failures = append(r.failures, failure{"(" + err.Error() + ")", r.printed("")})
	case err == nil && !r.whole && len(r.failures) == 0:
		r.failures = append(r.failures, failure{"(it ended before its tests had ended)", r.printed("")})
	}
}

func (r *packageRun) arguments(o options) []string {
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=60m"}
	if o.shuffle {
		args = append(args, "-test.shuffle=on")
	}
	if o.soak {
		return append(args, "-test.run=^TestSoak_")
	}
	return append(args, "-test.skip=^TestSoak_")
}

// runThroughTest2json runs the tests with their output in test2json, whose events it reads.
func (r *packageRun) runThroughTest2json(ctx context.Context, tests, events *exec.Cmd) error {
	printed, output, err := os.Pipe()
	if err != nil {
		return err
	}
	defer printed.Close()
	tests.Stdout, tests.Stderr, events.Stdin = output, output, printed
	out, err := events.StdoutPipe()
	if err != nil {
		return errors.Join(err, output.Close())
	}
	if err := errors.Join(events.Start(), tests.Start(), output.Close()); err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.read(bufio.NewReader(out))
	}()
	ended := make(chan error, 1)
	go func() { ended <- tests.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = tests.Process.Signal(syscall.SIGTERM)
		select {
		case err = <-ended:
		case <-time.After(endLimit):
			_ = tests.Process.Kill()
			err = <-ended
		}
	}
	select {
	case <-read:
		_ = syscall.Kill(-tests.Process.Pid, syscall.SIGKILL) // most often there is none left
	case <-time.After(restLimit):
		_ = syscall.Kill(-tests.Process.Pid, syscall.SIGKILL)
		_ = events.Process.Kill()
		<-read
		err = errors.Join(err, errors.New("it left a process behind that keeps its output open"))
	}
	_ = events.Wait()
	return err
}

// read takes in the events of test2json until they end.
func (r *packageRun) read(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.addEvent(e)
		}
		if err != nil {
			break
		}
	}
	// A test that has not ended is one that took the whole program with it.
	for _, name := range slices.Sorted(maps.Keys(r.current)) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(r.current)), func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			r.failures = append(r.failures, failure{name + " (did not end)", r.printed(name) + r.printed("")})
		}
	}
}

func (r *packageRun) addEvent(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Action {
	case "run", "cont":
		r.current[e.Test] = time.Now()
	case "pause":
		r.current[e.Test] = time.Time{}
	case "output":
		if r.output[e.Test] == nil {
			r.output[e.Test] = &bytes.Buffer{}
		}
		r.output[e.Test].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.whole = e.Action != "fail"
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
	why := ""
	for line := range strings.Lines(output) {
		if line = strings.TrimRight(line, "\n"); !frame.MatchString(line) && strings.TrimSpace(line) != "" {
			why = source.ReplaceAllString(line, "")
		}
	}
	return cmp.Or(strings.TrimSpace(why), "it does not say why")
}

// runningTests names the tests that are running, the longest first.
func (r *packageRun) runningTests() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, since := range r.current {
		if !strings.Contains(name, "/") && !since.IsZero() {
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
