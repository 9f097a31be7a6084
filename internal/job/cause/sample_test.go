package cause_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// TestJudge_recorded_accounting judges every run that was recorded from three versions of Slurm.
func TestJudge_recorded_accounting(t *testing.T) {
	paths, err := filepath.Glob("testdata/slurm-*/sacct-P.txt")
	if err != nil || len(paths) != 4 {
		t.Fatal(paths, err)
	}
	var b strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&b, "%s\n", filepath.Base(filepath.Dir(path)))
		for _, r := range recorded(t, path) {
			v := cause.Judge(cause.Evidence{Run: r.run, Checkpoint: cause.NoCheckpoint, Policy: policy.Default()})
			fmt.Fprintf(&b, "%-12s %-16s %-8s %-12s %-9s %s; %s%s\n", r.name, r.run.State, fmt.Sprintf("%d:%d", r.run.Exit.Code, r.run.Exit.Signal), v.Class, v.Action, v.Text, v.Why, faults(v))
		}
	}
	golden.Check(t, "slurm.txt", b.String())
}

func faults(v cause.Verdict) string {
	text := ""
	for _, f := range v.Faults {
		text += fmt.Sprintf(" [%s: %s, drain %t]", f.Node, f.Reason, f.Drain)
	}
	return text
}

type namedRun struct {
	name string
	run  cause.Run
}

// recorded reads sacct -P with steps.
func recorded(t *testing.T, path string) []namedRun {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	columns := strings.Split(lines[0], "|")
	var all []namedRun
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "|") {
			row[columns[i]] = cell
		}
		nodes, _ := slurm.Expand(strings.TrimPrefix(row["NodeList"], "None assigned"))
		if _, step, is := strings.Cut(row["JobIDRaw"], "."); is {
			last := &all[len(all)-1].run
			last.Steps = append(last.Steps, cause.Step{Name: step, State: row["State"], Exit: exitOf(row["ExitCode"]), Nodes: nodes})
			continue
		}
		all = append(all, namedRun{row["JobName"], cause.Run{State: row["State"], Exit: exitOf(row["ExitCode"]), Derived: exitOf(row["DerivedExitCode"]), Reason: row["Reason"], Nodes: nodes}})
	}
	return all
}

func exitOf(text string) cause.Exit {
	code, signal, _ := strings.Cut(text, ":")
	c, _ := strconv.Atoi(code)
	s, _ := strconv.Atoi(signal)
	return cause.Exit{Code: c, Signal: s}
}

// TestJudge_recorded_kernels judges a run that failed on a node whose kernel said what was recorded.
func TestJudge_recorded_kernels(t *testing.T) {
	paths, err := filepath.Glob("testdata/xid/*")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		e := failed(13)
		for i, line := range strings.Split(string(data), "\n") {
			e.Kernel = append(e.Kernel, cause.KernelLine{Node: "q-st-b-2", Text: line, Place: fmt.Sprintf("kernel of q-st-b-2:%d", i+1)})
		}
		v := cause.Judge(e)
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n%s\n", filepath.Base(path), text)
	}
	golden.Check(t, "kernel.txt", b.String())
}

// failed is a run of three nodes that failed with an exit code.
func failed(code int) cause.Evidence {
	return cause.Evidence{
		Run: cause.Run{State: "FAILED", Exit: cause.Exit{Code: code}, Nodes: []string{"q-st-b-1", "q-st-b-2", "q-st-b-3"},
			Steps: []cause.Step{{Name: "batch", State: "FAILED", Exit: cause.Exit{Code: code}}}},
		Checkpoint: 100, Policy: policy.Default(),
	}
}

// TestJudge_recorded_logs judges runs that failed by what their logs say, and where they ran by what Slurm says.
func TestJudge_recorded_logs(t *testing.T) {
	paths, err := filepath.Glob("testdata/logs/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	real, _ := filepath.Glob("testdata/torch-*/*.txt")
	outs, _ := filepath.Glob("testdata/slurm-*/job-*.out")
	var b strings.Builder
	for _, path := range slices.Concat(paths, real, outs) {
		e := failed(1)
		if strings.HasSuffix(path, ".out") {
			e.Run = cause.Run{} // accounting is off
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		reader := &trainlog.Reader{}
		for _, s := range append(reader.Feed(data).Signs, reader.End().Signs...) {
			e.Signs = append(e.Signs, cause.Sign{File: filepath.Base(path), Sign: s})
		}
		v := cause.Judge(e)
		name, _ := filepath.Rel("testdata", path)
		fmt.Fprintf(&b, "%s: %s, %s: %s; %s%s\n", name, v.Class, v.Action, v.Text, v.Why, faults(v))
		for _, f := range v.Findings {
			fmt.Fprintf(&b, "    %s: %s (%t)\n", f.Place, f.Text, f.Follows)
		}
	}
	golden.Check(t, "logs.txt", b.String())
}

// TestJudge_what_Slurm_and_logs_say_elsewhere: rows of sacct from the field, and the logs that trainlog
// is tried with, all come to a verdict that says something.
func TestJudge_what_Slurm_and_logs_say_elsewhere(t *testing.T) {
	histories, _ := filepath.Glob("../../slurm/testdata/slurm-field/sacct-*.txt")
	logs, _ := filepath.Glob("../trainlog/testdata/*.txt")
	if len(histories) == 0 || len(logs) == 0 {
		t.Fatal("there are none")
	}
	judged := 0
	check := func(from string, e cause.Evidence) {
		judged++
		if v := cause.Judge(e); v.Text == "" || v.Why == "" || strings.ContainsAny(v.Text, "\n\r") || v.Class == cause.Unknown && len(v.Faults) > 0 {
			t.Errorf("%s: %+v", from, v)
		}
	}
	for _, path := range histories {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		runs, _ := slurm.ParseHistory(data, "|", nil)
		for _, r := range runs {
			nodes, _ := slurm.Expand(r.NodeList)
			check(path, cause.Evidence{Run: cause.Run{State: r.State, CancelledBy: r.CancelledBy, Reason: r.Reason, Exit: cause.Exit(r.ExitCode), Nodes: nodes, Start: r.Start, End: r.End}})
		}
	}
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		e, reader := failed(1), &trainlog.Reader{}
		for _, s := range append(reader.Feed(data).Signs, reader.End().Signs...) {
			e.Signs = append(e.Signs, cause.Sign{File: filepath.Base(path), Sign: s})
		}
		check(path, e)
	}
	t.Logf("%d verdicts", judged)
}
