package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/local/demo"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

func TestDemo_says_what_to_do_next(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const own = "    muster check FILE         your own cluster file; then muster plan FILE and muster up FILE\n"
	const keep = "\nNext:\n    muster demo --keep        the same, and leaves the cluster up to look around\n"
	cases := map[string]struct {
		options demoOptions
		program string
		want    string
	}{
		"short": {demoOptions{}, "muster", keep + "    muster demo --whole       also PyTorch in a container, and the end of idle nodes; about four minutes\n" + own},
		"whole": {demoOptions{whole: true}, "muster", keep + own},
		"kept": {demoOptions{keep: true}, "muster", `
Next:
    muster status             services, nodes, jobs, storage, exports
    muster top                all of it live; q ends it
    muster shell              a shell on the head node, for sinfo, squeue, srun
    cd '/my home/demo-files' && MODEL=again muster run bytelm.sbatch
                              train again; in another window: muster nodes, muster node kill NAME
    muster down --delete-data && rm -r '/my home/demo-files'
                              take the cluster down, and remove its files
`},
		"kept_by_a_program_elsewhere": {demoOptions{keep: true}, "bin/muster", `
Next:
    bin/muster status         services, nodes, jobs, storage, exports
    bin/muster top            all of it live; q ends it
    bin/muster shell          a shell on the head node, for sinfo, squeue, srun
    cd '/my home/demo-files' && MODEL=again ` + shell.Line([]string{here + "/bin/muster"}) + ` run bytelm.sbatch
                              train again; in another window: bin/muster nodes, bin/muster node kill NAME
    bin/muster down --delete-data && rm -r '/my home/demo-files'
                              take the cluster down, and remove its files
`},
		"in_a_long_path": {demoOptions{whole: true}, "/a/long path to/muster", `
Next:
    '/a/long path to/muster' demo --keep
                              the same, and leaves the cluster up to look around
    '/a/long path to/muster' check FILE
                              your own cluster file; then '/a/long path to/muster' plan FILE and '/a/long path to/muster' up FILE
`},
	}
	for name, c := range cases {
		var out bytes.Buffer
		if err := showNext(&out, c.options, c.program, "/my home/demo-files"); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDemo_shows_its_steps(t *testing.T) {
	result := demo.Result{Seconds: 51.4, FirstJobSeconds: 12, Steps: []step.Step{
		{Name: "check the cluster file", Detail: "80 nodes", Seconds: 0.04}, {Name: "run a job on all nodes", Detail: "evil \x1b[31m", Seconds: 6.18},
	}}
	var out bytes.Buffer
	a := &app{out: &out, output: "text"}
	if err := a.showDemo(result); err != nil {
		t.Fatal(err)
	}
	want := "\n2 steps in 51 s:\n" +
		"    0.0 s  check the cluster file                 80 nodes\n" +
		`    6.2 s  run a job on all nodes                 evil \x1b[31m` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	if a.output = "json"; a.showDemo(result) != nil || !strings.Contains(out.String(), `"first_job_seconds": 12`) {
		t.Errorf("JSON: %s", &out)
	}
}

// TestProgramName: the name alone means this program only where PATH has it.
func TestProgramName(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ours, others := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Symlink(self, filepath.Join(ours, "muster")), os.WriteFile(filepath.Join(others, "muster"), nil, 0o755)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{ours: "muster", others: "bin/muster", t.TempDir(): "bin/muster", others + ":" + ours: "bin/muster"} {
		t.Setenv("PATH", path)
		if got := programName("bin/muster"); got != want {
			t.Errorf("PATH=%s: got %q, want %q", path, got, want)
		}
	}
}

// TestStopAtBrokenPipe writes to a pipe without a reader as either stream. The program goes on,
// and the context ends.
func TestStopAtBrokenPipe(t *testing.T) {
	for name, row := range map[string]struct{ out, err, read bool }{
		"stdout": {out: true}, "stderr": {err: true}, "has_a_reader": {out: true, err: true, read: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			defer r.Close()
			a := &app{out: io.Discard, err: io.Discard}
			if row.out {
				a.out = w
			}
			if row.err {
				a.err = w
			}
			ctx, end := a.stopAtBrokenPipe(t.Context())
			defer end()
			if !row.read {
				r.Close()
			}
			_, outErr := io.WriteString(a.out, "x")
			_, errErr := io.WriteString(a.err, "x")
			if broken := errors.Is(errors.Join(outErr, errErr), syscall.EPIPE); broken == row.read {
				t.Errorf("the writes: %v, %v", outErr, errErr)
			}
			if cause := context.Cause(ctx); errors.Is(cause, syscall.EPIPE) == row.read {
				t.Errorf("the context's cause is %v", cause)
			}
		})
	}
}
