package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Programs that stand for compiled tests, and how they are judged.
func TestPackageRun_judges_how_a_program_ends(t *testing.T) {
	programs := built(t)
	const passes = "printf '%s\\n' '=== RUN   TestA' '--- PASS: TestA (0.00s)'\n"
	for name, row := range map[string]struct{ script, outcome, says string }{
		"passes":                      {passes + "echo PASS", "ok", ""},
		"fails":                       {passes + "printf '%s\\n' '=== RUN   TestB' '--- FAIL: TestB (0.00s)' FAIL; exit 1", "FAIL", "TestB"},
		"ends_before_its_tests_end":   {passes + "echo '=== RUN   TestB'; exit 0", "FAIL", "TestB (did not end)"},
		"says_nothing":                {"exit 0", "FAIL", "it ended before its tests had ended"},
		"says_pass_and_ends_with_two": {passes + "echo PASS; exit 2", "FAIL", "exit status 2"},
		"is_killed":                   {passes + "echo '=== RUN   TestB'; kill -KILL $$", "FAIL", "signal: killed"},
		"prints_no_more_than_stderr":  {"echo 'panic: out of range' >&2; exit 2", "FAIL", "panic: out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPackageRun(tested{dir: ".", path: "a", binary: script(t, row.script)})
			r.run(t.Context(), programs, options{})
			said := ""
			for _, f := range r.failures {
				said += f.name + "\n" + f.output
			}
			if r.outcome() != row.outcome || !strings.Contains(said, row.says) || (row.says == "") != (said == "") {
				t.Errorf("it is %q and says %q, want %q and %q", r.outcome(), said, row.outcome, row.says)
			}
		})
	}
}

// Tests that are stopped take down what they started, and are waited for; what they leave is killed.
func TestPackageRun_waits_for_tests_that_are_stopped(t *testing.T) {
	programs := built(t)
	dir := t.TempDir()
	r := newPackageRun(tested{dir: ".", path: "a", binary: script(t, "cd "+dir+`
		trap 'echo yes >clean; exit 130' TERM
		sleep 600 >/dev/null 2>&1 &
		echo $! >child
		echo yes >ready
		wait`)})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.run(ctx, programs, options{})
	}()
	await(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	stop()
	<-done
	if _, err := os.Stat(filepath.Join(dir, "clean")); err != nil {
		t.Error("it was not waited for")
	}
	child, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(child)), "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// built is the folder for programs beside a test2json.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "test2json"), "cmd/test2json").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "programs")
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.test")
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func await(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came")
		}
	}
}
