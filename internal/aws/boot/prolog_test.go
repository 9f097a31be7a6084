package boot

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/services"
)

// Reports of DCGM 3 and 4, as far as they differ.
const (
	passed3 = `{"DCGM GPU Diagnostic":{"version":"3.3.6","test_categories":[{"category":"Deployment","tests":[{"name":"Denylist","results":[{"gpu_ids":"0,1","status":"PASS"}]},
		{"name":"Inforom","results":[{"gpu_ids":"0,1","status":"SKIP","warnings":["not asked for"]}]}]}]}}`
	failed3 = `{"DCGM GPU Diagnostic":{"test_categories":[{"category":"Hardware","tests":[{"name":"GPU Memory","results":[{"gpu_ids":"0","status":"PASS"},
		{"gpu_ids":"1","status":"FAIL","warnings":["ECC errors on GPU 1"]}]}]}]}}`
	failed4 = `{"DCGM Diagnostic":{"test_categories":[{"category":"Deployment","tests":[{"name":"software","results":[{"entity_group":"GPU","entity_id":0,"status":"Fail",
		"warnings":[{"error_id":28,"warning":"fabric manager"}]}],"test_summary":{"status":"Fail"}}]}]},"entity_groups":[]}`
)

func TestVerdict(t *testing.T) {
	for name, row := range map[string]struct {
		out  string
		want Verdict
	}{
		"passed":     {passed3, Verdict{}},
		"failed_3":   {failed3, Verdict{Failed: []string{`GPU Memory on 1: ECC errors on GPU 1`}}},
		"failed_4":   {"Warning: one line before\n" + failed4, Verdict{Failed: []string{`software on GPU 0: fabric manager`}}},
		"no_engine":  {"Error: unable to establish a connection to the specified host: localhost\nError: Unable to connect to host engine. Host engine connection invalid/disconnected.\n", Verdict{Blind: "Error: Unable to connect to host engine. Host engine connection invalid/disconnected."}},
		"not_run":    {`{"DCGM Diagnostic":{"runtime_error":"The GPU is in use by another diagnosis"}}`, Verdict{Blind: "The GPU is in use by another diagnosis"}},
		"no_tests":   {`{"DCGM Diagnostic":{"version":"4.2.3"}}`, Verdict{Blind: `DCGM ran no test: {"DCGM Diagnostic":{"version":"4.2.3"}}`}},
		"skipped":    {`{"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"memory","results":[{"status":"Skip"}]}]}]}}`, Verdict{Blind: `DCGM ran no test: {"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"memory","results":[{"status":"Skip"}]}]}]}}`}},
		"cut_short":  {passed3[:100], Verdict{Blind: "DCGM ran no test: " + passed3[:100]}},
		"cut_later":  {passed3[:170], Verdict{Blind: "DCGM's report is not whole: the JSON is broken: unexpected end of JSON input"}},
		"cut_failed": {failed3[:len(failed3)-20], Verdict{Failed: []string{"GPU Memory on 1"}, Blind: "DCGM's report is not whole: the JSON is broken: unexpected end of JSON input"}},
		"no_words":   {"", Verdict{Blind: "DCGM ran no test: "}},
		"other_json": {`{"date":"2026"}`, Verdict{Blind: `DCGM ran no test: {"date":"2026"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, verdict(row.out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDiagnose: the engine is started, and whatever keeps DCGM from looking fails nothing.
func TestDiagnose(t *testing.T) {
	for name, row := range map[string]struct {
		answers map[string]string
		fails   map[string]error
		want    Verdict
		ran     string
	}{
		"passed":    {map[string]string{"dcgmi": passed3}, nil, Verdict{}, "dcgmi diag --run 2 --json -i 0,1"},
		"l4":        {map[string]string{"dcgmi": passed3, "nvidia-smi": "NVIDIA L4\n"}, nil, Verdict{}, "dcgmi diag --run 2 --json -i 0,1 -p " + narrowPCI},
		"no_engine": {nil, map[string]error{"systemctl enable --now nvidia-dcgm": errors.New("no such unit")}, Verdict{Blind: "start nvidia-dcgm: no such unit"}, "systemctl enable --now nvidia-dcgm"},
		"crashed":   {nil, map[string]error{"dcgmi": errors.New("signal: segmentation fault (core dumped)")}, Verdict{Blind: "signal: segmentation fault (core dumped)"}, "dcgmi diag --run 2 --json -i 0,1"},
		"refused":   {nil, map[string]error{"dcgmi": errors.New("exit status 255: Error: Unable to connect to host engine.")}, Verdict{Blind: "exit status 255: Error: Unable to connect to host engine."}, "dcgmi diag --run 2 --json -i 0,1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answers: row.answers, fails: row.fails}
			m := machineOf(t, f, "")
			if err := os.MkdirAll(m.path("/run/systemd/system"), 0o755); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, m.Diagnose(t.Context(), "0,1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := f.ran[len(f.ran)-1]; got != row.ran || f.ran[0] != "systemctl enable --now nvidia-dcgm" {
				t.Errorf("ran %q", f.ran)
			}
		})
	}
}

// TestProlog_drains_for_a_failed_test_alone: whatever else becomes of muster there, the
// node keeps its job.
func TestProlog_drains_for_a_failed_test_alone(t *testing.T) {
	dir := t.TempDir()
	muster := filepath.Join(dir, "muster")
	prolog := filepath.Join(dir, "prolog")
	if err := os.WriteFile(prolog, []byte(strings.ReplaceAll(services.PrologScript(diagnosis, "--mount", "/fsx"), services.Muster, muster)), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		program, gpus string
		fails         bool
	}{
		"passed":      {"exit 0", "0", false},
		"failed_test": {`[ "$2" = health ]`, "0", true},
		"no_gpus":     {`[ "$2" = health ]`, "", false},
		"node_out":    {`[ "$2" = diagnose ] || exit 1`, "0", true},
		"out_no_gpus": {`exit 1`, "", true},
		"bad_command": {"exit 2", "0", false},
		"killed":      {"kill -9 $$", "0", false},
		"not_there":   {"", "0", false},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(muster)
			if row.program != "" {
				if err := os.WriteFile(muster, []byte("#!/bin/sh\n"+row.program+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(prolog)
			cmd.Env = []string{"PATH=/usr/bin:/bin", "SLURM_JOB_GPUS=" + row.gpus}
			if out, err := cmd.CombinedOutput(); (err != nil) != row.fails {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestNoteHealth(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	for _, v := range []Verdict{{}, {Blind: "no engine"}, {Failed: []string{"a", "b"}}} {
		if err := m.NoteHealth(v, "7", time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	want := "1970-01-01T00:00:00Z job 7: blind: no engine\n1970-01-01T00:00:00Z job 7: failed: a; b\n"
	if got, err := m.Read(healthLog); err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}
