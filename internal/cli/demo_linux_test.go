package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/local/demo"
	"github.com/muster-hpc/muster/internal/say/step"
)

func TestDemo_says_what_to_do_next(t *testing.T) {
	const own = "    muster check FILE         your own cluster file; then muster plan FILE and muster up FILE\n"
	const keep = "\nNext:\n    muster demo --keep        the same, and leaves the cluster up to look around\n"
	cases := map[string]struct {
		options demoOptions
		want    string
	}{
		"short": {demoOptions{}, keep + "    muster demo --whole       also PyTorch in a container, and the end of idle nodes; about four minutes\n" + own},
		"whole": {demoOptions{whole: true}, keep + own},
		"kept": {demoOptions{keep: true}, `
Next:
    muster status             services, nodes, jobs, storage, exports
    muster top                all of it live; q ends it
    muster shell              a shell on the head node, for sinfo, squeue, srun
    cd '/my home/demo-files' && MODEL=again muster run bytelm.sbatch
                              train again; in another window: muster nodes, muster node kill NAME
    muster down --delete-data && rm -r '/my home/demo-files'
                              take the cluster down, and remove its files
`},
	}
	for name, c := range cases {
		var out bytes.Buffer
		if err := showNext(&out, c.options, "/my home/demo-files"); err != nil {
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
