package burnin_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/burnin"
)

func TestReadFitness(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "burn-in")
	if _, err := burnin.ReadFitness(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before its end: %v", err)
	}
	if err := burnin.KeepFitness(dir, verify.Fitness{Schema: 1, Unfit: "it is hot", Said: "x"}); err != nil {
		t.Fatal(err)
	}
	if f, err := burnin.ReadFitness(dir); err != nil || f.Unfit != "it is hot" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, text := range []string{`{"unfit": 7}`, `{"un`, ""} {
		if err := os.WriteFile(filepath.Join(dir, "fitness.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if f, err := burnin.ReadFitness(dir); err == nil {
			t.Errorf("%s: %+v", text, f)
		}
	}
}

func TestReadReport(t *testing.T) {
	dir := t.TempDir()
	if _, err := burnin.ReadReport(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without one: %v", err)
	}
	report := verify.Report{Schema: 1, Nodes: []string{"n-1"}, Suites: []verify.Suite{{Name: verify.GPU, Results: []verify.Result{{Check: "gpu-count", Verdict: verify.Fail}}}}}
	report.Close()
	if err := burnin.KeepReport(dir, report); err != nil {
		t.Fatal(err)
	}
	text, err := burnin.ReadReport(dir)
	if err != nil || strings.Contains(string(text), "\n") {
		t.Errorf("%s, %v", text, err)
	}
	if got, err := verify.Parse(text); err != nil || got.Nodes[0] != "n-1" {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{`{"schema":`: "report.json: unexpected end", `["` + strings.Repeat("x", 1<<20) + `"]`: "has 1048580 bytes, and 524288 are kept at most"} {
		if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := burnin.ReadReport(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", text, err, want)
		}
	}
}
