package main

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What test2json prints of a package with a test that passes, one that fails, one that is skipped, and one in which the program ends.
const events = `{"Action":"start"}
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"run","Test":"TestB"}
{"Action":"run","Test":"TestB/one"}
{"Action":"output","Test":"TestB/one","Output":"    b_test.go:7: got 1, want 2\n"}
{"Action":"fail","Test":"TestB/one"}
{"Action":"fail","Test":"TestB"}
{"Action":"run","Test":"TestC"}
{"Action":"output","Test":"TestC","Output":"=== RUN   TestC\n"}
{"Action":"output","Test":"TestC","Output":"    c_test.go:9: this machine lacks root\n"}
{"Action":"output","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}
{"Action":"skip","Test":"TestC"}
no event at all
{"Action":"run","Test":"TestD"}
{"Action":"run","Test":"TestD/two"}
{"Action":"output","Test":"TestD/two","Output":"panic: out of range\n"}
{"Action":"fail"}
`

func TestPackageRun_counts_what_became_of_each_test(t *testing.T) {
	r := newPackageRun(tested{dir: "a"})
	r.read(bufio.NewReader(strings.NewReader(events)))
	var failed []string
	for _, f := range r.failures {
		failed = append(failed, f.name)
	}
	if want := []string{"TestB/one", "TestB", "TestD/two (did not end)"}; r.passed != 1 || !slices.Equal(failed, want) {
		t.Errorf("%d passed and %q failed, want 1 and %q", r.passed, failed, want)
	}
	if want := []string{"this machine lacks root"}; !slices.Equal(r.skipped, want) {
		t.Errorf("skipped %q, want %q", r.skipped, want)
	}
	if got := r.failures[0].output + r.failures[2].output; !strings.Contains(got, "got 1, want 2") || !strings.Contains(got, "panic: out of range") {
		t.Errorf("the failures print %q", got)
	}
	if r.outcome() != "FAIL" {
		t.Errorf("a package with failures is %q", r.outcome())
	}
}

func TestGroups_have_no_name_twice(t *testing.T) {
	packages := []tested{{dir: "internal/aws/nodes", module: "."}, {dir: "internal/local/nodes", module: "."}, {dir: "internal/lint", module: "."}, {dir: "stand", module: "stand"}}
	count := 0
	for _, g := range groups(packages) {
		names := map[string]bool{}
		for _, p := range g {
			count++
			if name := filepath.Base(p.dir); names[name] || p.module != g[0].module {
				t.Errorf("%s stands beside %s", p.dir, g[0].dir)
			} else {
				names[name] = true
			}
		}
	}
	if count != len(packages) {
		t.Errorf("%d of %d packages are in a group", count, len(packages))
	}
}

func TestSchedule_begins_with_what_takes_longest(t *testing.T) {
	s := newSchedule([]tested{{dir: "quick"}, {dir: "new"}, {dir: "slow"}}, map[string]float64{"test quick": 1, "test slow": 90, "soak quick": 500}, options{parallel: 2})
	var order []string
	for _, p := range s.queue {
		order = append(order, p.dir)
	}
	if want := []string{"slow", "new", "quick"}; !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
	s.began = time.Now()
	if got := s.timeLeft(); !strings.HasPrefix(got, "about ") {
		t.Errorf("at the start there is %q", got)
	}
	for _, p := range s.queue {
		s.done = append(s.done, newPackageRun(p))
	}
	if got := s.timeLeft(); got != "" {
		t.Errorf("in the end there is %q", got)
	}
}

func TestSchedule_passes_only_with_tests_that_passed(t *testing.T) {
	for name, row := range map[string]struct {
		run    *packageRun
		failed bool
	}{
		"passed":            {&packageRun{passed: 1}, false},
		"passed_and_failed": {&packageRun{passed: 1, failures: []failure{{}}}, true},
		"skipped_alone":     {&packageRun{skipped: []string{"this machine lacks root"}}, true},
		"no_test":           {&packageRun{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSchedule(nil, nil, options{parallel: 1})
			s.done = append(s.done, row.run)
			if got := s.failed(); got != row.failed {
				t.Errorf("failed: %v, want %v", got, row.failed)
			}
		})
	}
}

func TestHasSoak(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a_test.go": "package a\n\nfunc TestA(t *testing.T) {}\n", "b_test.go": "package a\n\nfunc TestSoak_b(t *testing.T) {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		files []string
		want  bool
	}{{[]string{"a_test.go"}, false}, {[]string{"a_test.go", "b_test.go"}, true}, {nil, false}} {
		if got, err := hasSoak(dir, row.files); got != row.want || err != nil {
			t.Errorf("hasSoak of %q: %v, %v", row.files, got, err)
		}
	}
}

func TestKeepSeconds_reads_what_it_wrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), secondsFile)
	s := newSchedule([]tested{{dir: "a"}}, nil, options{soak: true, parallel: 1})
	r := newPackageRun(tested{dir: "a"})
	r.took = 1500 * time.Millisecond
	s.done = append(s.done, r)
	if err := s.keepSeconds(path, map[string]float64{"test a": 7}); err != nil {
		t.Fatal(err)
	}
	if got, err := readSeconds(path); err != nil || len(got) != 2 || got["soak a"] != 1.5 || got["test a"] != 7 {
		t.Errorf("%v, %v", got, err)
	}
}
