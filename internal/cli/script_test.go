package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-hpc/muster/internal/cli"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func TestMain(m *testing.M) {
	moon()
	testscript.Main(m, map[string]func(){"muster": func() { os.Exit(cli.Main()) }})
}

// TestScript runs the real command line: every script says a command, its exit
// code and both streams. None of them makes a cluster.
func TestScript(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := filepath.Abs("../spec/testdata/bad/guide.yaml")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("MUSTER_HOME", e.WorkDir+"/home")
			e.Setenv("TZ", "UTC")
			e.Setenv("GUIDE", guide)
			e.Setenv("EXAMPLES", examples)
			e.Setenv("EVIL", "evil\x1b[31m\n\u202e.yaml")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"fill":  fill,
			"expand": func(ts *testscript.TestScript, _ bool, args []string) {
				text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
			},
		},
	})
}

// exits CODE COMMAND... runs a command that must end with an exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// fill FILE MEGABYTES writes a file of comments.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE MEGABYTES")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	const line = "# as long as a line of a file is\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(line, size*1e6/len(line)+1)), 0o644))
}
