package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/controller/client"
)

func TestResumeJobs(t *testing.T) {
	for _, row := range []struct {
		name, file string
		want       []client.RequestJob
		fails      bool
	}{
		{"22_05", `{"jobs":[{"job_id":1,"nodes":"q-[1-2]"},{"job_id":2,"nodes":"q-3"}],"all_nodes":"q-[1-3]"}`,
			[]client.RequestJob{{ID: 1, Nodes: "q-[1-2]"}, {ID: 2, Nodes: "q-3"}}, false},
		{"23_02", `{"jobs":[{"job_id":7,"nodes_alloc":"q-[1-3]","nodes_resume":"q-[2-3]"}],"all_nodes_resume":"q-[2-3]"}`,
			[]client.RequestJob{{ID: 7, Nodes: "q-[2-3]"}}, false},
		{"by_hand", `{"jobs":[],"all_nodes":"q-1"}`, nil, false},
		{"broken", `{"jobs":[{"jo`, nil, true},
		{"empty", ``, nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "resume.json")
			if err := os.WriteFile(path, []byte(row.file), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := resumeJobs(path)
			if diff := cmp.Diff(row.want, got); diff != "" || (err != nil) != row.fails {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// A resume file that cannot be read costs the jobs' names, and not the call: this
// one fails only because there is no controller here.
func TestHandOverSurvivesABrokenResumeFile(t *testing.T) {
	t.Setenv("SLURM_RESUME_FILE", filepath.Join(t.TempDir(), "gone"))
	var said strings.Builder
	a := &app{out: io.Discard, err: &said}
	err := a.handOver(t.Context(), "resume", "q-1")
	if err == nil || !strings.Contains(err.Error(), "hand resume of q-1 to the controller") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(said.String(), "the controller is told the nodes alone") {
		t.Errorf("said %q", said.String())
	}
}
