package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/status"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// noon is when all is looked at.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

func TestStatusOfServices(t *testing.T) {
	l := &nodes.Layout{Dir: t.TempDir()}
	var s sight
	s.lookAtServices(l, noon)
	if s.State != "starting" || len(s.Blind) != 1 {
		t.Errorf("without a status file: %+v", s)
	}
	running := []supervise.Status{{Name: "s3", Phase: supervise.Starting, Since: noon.Add(-2 * time.Minute), Last: "ended with exit code 1"}}
	if err := os.MkdirAll(l.Path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := whole.JSON(l.Path("run", "services.json"), running); err != nil {
		t.Fatal(err)
	}
	s = sight{}
	s.lookAtServices(l, noon)
	want := []string{"service s3 is starting since 2 min, its last run ended with exit code 1; see " + l.Path("log", "s3.log")}
	if diff := cmp.Diff(want, s.Look); diff != "" || s.State != "starting" {
		t.Errorf("state %s (-want +got):\n%s", s.State, diff)
	}
	running[0].Phase = supervise.Ready
	if err := whole.JSON(l.Path("run", "services.json"), running); err != nil {
		t.Fatal(err)
	}
	s = sight{}
	s.lookAtServices(l, noon)
	if s.State != "up" || len(s.Look) > 0 {
		t.Errorf("with all ready: %+v", s)
	}
}

func TestStatusOfHangingMachines(t *testing.T) {
	var s sight
	s.judgeMachines([]nodes.Hung{{PID: 7}, {Node: "q-st-r-1", PID: 9}}, nil)
	s.judgeMachines(nil, errors.New("no such process"))
	want := status.Cluster{Look: []string{
		"the head node is hanging: a signal stopped its first process; `kill -CONT 7` lets it go on",
		"node q-st-r-1 is hanging: a signal stopped its first process; `kill -CONT 9` lets it go on",
	}, Blind: []string{"machines: no such process"}}
	if diff := cmp.Diff(want, s.Cluster); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusOfADeadCluster holds that files whose way into a bucket nobody can tell are not passed over.
func TestStatusOfADeadCluster(t *testing.T) {
	example, err := os.ReadFile("../../examples/demo/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"linked": "shared/fsx2", "not_linked": "shared/fsx1"} {
		t.Run(name, func(t *testing.T) {
			ref := Ref{Home: t.TempDir(), Name: "u"}
			l := ref.Layout()
			err := os.MkdirAll(l.Path(dir), 0o755)
			for file, text := range map[string]string{"cluster.yaml": string(example), "cluster.json": "{}", dir + "/weights": "x"} {
				err = errors.Join(err, os.WriteFile(l.Path(file), []byte(text), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if name == "linked" {
				want = []string{"exports: it is unknown which files still have to be exported: the cluster does not run"}
			}
			if diff := cmp.Diff(want, Status(t.Context(), ref).Blind); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiskUseCountsFilesOnDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "c"), make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, atLeast := diskUse(t.Context(), dir); atLeast || got < 1<<20 || got > 2<<20 {
		t.Errorf("a MiB takes %d bytes, at least: %t", got, atLeast)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, atLeast := diskUse(ctx, dir); !atLeast {
		t.Error("a count that was stopped is taken for whole")
	}
}
