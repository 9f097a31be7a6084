package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/place/placetest"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/verify"
)

func verified(gpus string, v verify.Verdict) verify.Report {
	r := verify.Report{Identity: verify.Identity{Cluster: "training"}, Began: time.Date(2026, 11, 3, 8, 0, 0, 0, time.UTC), Seconds: 90, Nodes: []string{"n-1", "n-2", "n-3"}}
	s := verify.Suite{Name: verify.GPU}
	for _, n := range r.Nodes {
		s.Results = append(s.Results, verify.Result{Check: "driver", On: n, Verdict: verify.Pass, Found: "580", Want: "580"})
	}
	s.Results = append(s.Results, verify.Result{Check: "gpu-count", On: "n-2", Verdict: v, Found: gpus, Want: "8", Why: "one fell\x1b off", Hint: "muster node kill n-2"})
	r.Suites = []verify.Suite{s, {Name: verify.Container, Verdict: verify.Skip, Why: "no image"}}
	r.Close()
	return r
}

func TestVerifyText(t *testing.T) {
	var out strings.Builder
	if err := (&app{out: &out, err: io.Discard}).verifyText(verified("7", verify.Fail)); err != nil {
		t.Fatal(err)
	}
	want := `VERDICT  SUITE  CHECK      ON       FOUND  WANT
fail     gpu    gpu-count  n-2      7      8
pass     gpu    driver     n-[1-3]  580    580

fail gpu gpu-count on n-2: one fell\x1b off
  do: muster node kill n-2
skip container container: no image
training: fail (4 results: 1 fail, 3 pass) on 3 nodes in 1 min
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestReportError holds which reports open a gate.
func TestReportError(t *testing.T) {
	for _, c := range []struct {
		verdict      verify.Verdict
		error        string
		code, strict int
	}{
		{verify.Pass, "", 0, 0}, {verify.Skip, "", 0, 3}, {verify.Warn, "", 0, 3}, {verify.Blind, "", 3, 3}, {verify.Fail, "", 1, 1},
		{verify.Blind, "the budget of 1 min is spent", 3, 3}, {verify.Warn, "the nodes were lost", 3, 3}, {verify.Fail, "interrupt", 1, 1},
	} {
		for strict, want := range map[bool]int{false: c.code, true: c.strict} {
			var code fault.Exit
			err := reportError(verify.Report{Verdict: c.verdict, Error: c.error}, strict)
			if _ = errors.As(err, &code); int(code) != want || (err == nil) != (want == 0) {
				t.Errorf("%s %q, strict %t: exit code %d, want %d", c.verdict, c.error, strict, code, want)
			}
		}
	}
}

func TestVerifyDiff(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, v any) string {
		text, _ := json.Marshal(v)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, bad, other := file("good.json", verified("8", verify.Pass)), file("bad.json", verified("7", verify.Fail)), file("other.json", []int{1})
	diff := func(args ...string) (string, error) {
		var out strings.Builder
		c := (&app{out: &out, err: io.Discard}).verifyDiff()
		c.SetArgs(args)
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.Execute()
		return out.String(), err
	}
	out, err := diff(good, bad)
	var code fault.Exit
	if !errors.As(err, &code) || code != 1 || !strings.Contains(out, "worse  gpu    gpu-count  n-2  pass, 8  fail, 7\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	file("kept/report.json", verified("8", verify.Pass))
	if out, err := diff(bad, filepath.Join(dir, "kept")); err != nil || !strings.Contains(out, "0 worse, 1 better") {
		t.Errorf("a directory that --report made: %v\n%s", err, out)
	}
	if out, err := diff(bad, good); err != nil || !strings.Contains(out, "0 worse, 1 better") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := diff(good, other); err == nil || !strings.Contains(err.Error(), "other.json: line 1, column 1: ") {
		t.Errorf("a foreign file: %v", err)
	}
}

func TestVerifyProof(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no ssh-keygen: Debian's openssh-client has it")
	}
	dir := t.TempDir()
	key, report := filepath.Join(dir, "key"), filepath.Join(dir, "report.json")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	var out strings.Builder
	a := &app{out: &out, err: io.Discard}
	if err := a.writeReport(dir, verified("8", verify.Pass), key); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.html", "report.xml", "report.json.sig"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	outside(t)
	in(t, placetest.Moon{})
	prove := func(args ...string) error {
		out.Reset()
		c := a.verifyProof()
		c.SetArgs(args)
		c.SilenceErrors, c.SilenceUsage = true, true
		return c.Execute()
	}
	if err := prove(report, "--key", key+".pub"); err != nil || !strings.Contains(out.String(), "nobody changed it since SHA256:") {
		t.Errorf("%v\n%s", err, out.String())
	}
	var code fault.Exit
	if err := prove(report); !errors.As(err, &code) || code != 3 {
		t.Errorf("a key that nobody named: %v", err)
	}
	proveByCluster(t, a, &out, prove, dir, key)
	text, _ := os.ReadFile(report)
	if err := os.WriteFile(report, []byte(strings.Replace(string(text), "8", "7", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := prove(report, "--key", key+".pub"); err == nil || !strings.Contains(err.Error(), "the signature is not of this text") {
		t.Errorf("a changed report: %v", err)
	}
}

// proveByCluster proves a report by the keys of clusters.
func proveByCluster(t *testing.T, a *app, out *strings.Builder, prove func(...string) error, dir, key string) {
	t.Helper()
	mine, _ := os.ReadFile(key + ".pub")
	onMoon(t, "training", string(mine))
	if err := prove(dir); err != nil || !strings.HasSuffix(out.String(), ", a key of the head node of cluster training\n") {
		t.Errorf("the key of the report's own cluster: %v\n%s", err, out.String())
	}
	const another = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
	onMoon(t, "training", another)
	if err := prove(dir); err == nil || !strings.Contains(err.Error(), "another key signed it, SHA256:") ||
		!strings.Contains(err.Error(), "; the head node of cluster training has SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU. If the cluster was made anew") {
		t.Errorf("the key of a cluster that was made anew: %v", err)
	}
	onMoon(t, "other", string(mine))
	a.cluster = "other"
	if err := prove(dir); err != nil {
		t.Errorf("the key of a cluster that is named: %v", err)
	}
	a.cluster = "none"
	if err := prove(dir); err == nil || errors.Is(err, fault.Exit(fault.ExitLook)) {
		t.Errorf("the key of a cluster that there is not: %v", err)
	}
	a.cluster = ""
}

// onMoon makes a cluster on the moon, whose head node has a key.
func onMoon(t *testing.T, name, key string) {
	t.Helper()
	dir := filepath.Join(os.Getenv("MUSTER_HOME"), "moon.d")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), []byte(key), 0o600)); err != nil {
		t.Fatal(err)
	}
}
