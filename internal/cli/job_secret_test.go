package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/job/sbatch"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// TestProgram_of_scripts holds that batch scripts find muster where machines have it.
func TestProgram_of_scripts(t *testing.T) {
	if sbatch.Program != services.Muster {
		t.Errorf("scripts start %s, machines have %s", sbatch.Program, services.Muster)
	}
}

// secretJob is a job file beside a file with a token.
func secretJob(t *testing.T, secrets string) (file string, data []byte) {
	t.Helper()
	dir := t.TempDir()
	data = []byte("Job: a\nNodes: 1\nScript: a.py\nTime: 10\nSecrets:\n" + secrets)
	file = filepath.Join(dir, "job.yaml")
	for path, text := range map[string][]byte{file: data, filepath.Join(dir, "token"): []byte("hf_12345678\r\n"), filepath.Join(dir, "empty"): []byte("\n"), filepath.Join(dir, "zero"): []byte("a\x00b")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file, data
}

func TestSecretsOutside(t *testing.T) {
	t.Setenv("MINE", "from the\nenvironment\n")
	for _, row := range []struct{ secrets, want, says string }{
		{"  ONE: {File: token}\n  TWO: {Environment: MINE}\n", `{"ONE":"aGZfMTIzNDU2Nzg=","TWO":"ZnJvbSB0aGUKZW52aXJvbm1lbnQK"}`, ""},
		{"  ONE: {File: none}\n", "", ":6:3: error: the value of ONE cannot be read: open "},
		{"  ONE: {File: empty}\n", "", "error: ONE is empty: "},
		{"  ONE: {File: zero}\n", "", "error: ONE has a zero byte"},
		{"  ONE: {File: .}\n", "", "it is no ordinary file"},
		{"  ONE: {Environment: NOT_THERE}\n", "", "NOT_THERE is not set in the environment"},
		{"  ONE: {}\n", "", ""}, // said on the head node
	} {
		file, data := secretJob(t, row.secrets)
		var said bytes.Buffer
		a := &app{err: &said}
		got, err := a.secretsOutside(t.Context(), where{}, file, data)
		if string(got) != row.want || (err != nil) != (row.says != "") || !strings.Contains(said.String(), row.says) {
			t.Errorf("%s: got %s, %v\n%s", row.secrets, got, err, &said)
		}
	}
	if got, err := (&app{}).secretsOutside(t.Context(), where{}, "a.sbatch", []byte("#!/bin/bash\n")); got != nil || err != nil {
		t.Errorf("of a batch script: %s, %v", got, err)
	}
}

func TestSecretsFor(t *testing.T) {
	file, data := secretJob(t, "  ONE: {File: elsewhere}\n")
	j, _ := jobfile.Parse(file, "/", data)
	for stdin, want := range map[string]string{`{"ONE":"eHl6"}`: "xyz", `{"ONE":"eH`: "", `{}`: "", "": ""} {
		a := &app{in: strings.NewReader(stdin)}
		got, err := a.secretsFor(t.Context(), j, true)
		if string(got["ONE"]) != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "eH") {
			t.Errorf("of %s: got %q, %v", stdin, got, err)
		}
	}
}

// TestTelltale: what a job must not inherit is named by the job file, or has a secret in it.
func TestTelltale(t *testing.T) {
	file, data := secretJob(t, "  ONE: {Environment: MINE}\n  TWO: {File: token}\n")
	j, _ := jobfile.Parse(file, "/", data)
	got := secretValues{"ONE": []byte("xyz"), "TWO": []byte("hf_12345678")}.telltale(j, []string{"A=xyz", "URL=https://u:hf_12345678@h", "TWO=other", "B="})
	if want := []string{"MINE", "ONE", "TWO", "URL"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// noHead is Slurm where the controller of the head node does not answer.
type noHead struct {
	ran []string
	// then happens when sbatch has taken the job.
	then func()
}

func (n *noHead) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if n.then != nil {
		n.then()
	}
	n.ran = append(n.ran, strings.Join(append([]string{name}, args...), " "))
	return []byte("12\n"), nil
}

// TestSubmitSecret holds that a job whose secrets cannot be kept is held, and then taken back, also by one who is told to end.
func TestSubmitSecret(t *testing.T) {
	if _, err := os.Stat(services.ControllerSocket); err == nil {
		t.Fatal("this machine is a head node")
	}
	file, data := secretJob(t, "  ONE: {Environment: MINE}\n")
	j, _ := jobfile.Parse(file, "/", data)
	ctx, end := context.WithCancel(t.Context())
	n := &noHead{then: end}
	_, err := (&app{}).submitSecret(ctx, slurm.Client{Runner: n},
		madeJob{Job: j, script: &sbatch.Script{}, secrets: secretValues{"ONE": []byte("xyz")}, submit: batchScript{file: "made", flags: []string{"--nice"}}})
	want := []string{"env --unset=MINE --unset=ONE sbatch --parsable --nice --hold --comment=" + client.AwaitsSecrets + " made", "scancel 12"}
	if err == nil || !strings.Contains(err.Error(), "hand the secrets of job 12 to the head node") || !slices.Equal(n.ran, want) {
		t.Errorf("%v; ran %q", err, n.ran)
	}
}

func TestHeadOf(t *testing.T) {
	for text, want := range map[string]string{"head(10.0.0.4)": "10.0.0.4", "head": "head", "": ""} {
		if got := headOf(text); got != want {
			t.Errorf("of %q it says %q", text, got)
		}
	}
}

// TestWriteSecrets writes all or nothing, in the order in which they are asked for.
func TestWriteSecrets(t *testing.T) {
	values := secretValues{}
	if err := json.Unmarshal([]byte(`{"A":"YQ==","B":"Ygo="}`), &values); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{out: &out}
	if err := a.writeSecrets([]string{"B", "A"}, values); err != nil || out.String() != "b\n\x00a\x00" {
		t.Errorf("wrote %q, %v", &out, err)
	}
	out.Reset()
	if err := a.writeSecrets([]string{"A", "C"}, values); err == nil || out.Len() > 0 {
		t.Errorf("wrote %q, %v", &out, err)
	}
}
