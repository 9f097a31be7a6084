package load_test

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// debianPython is the one that Debian's python3-torch is for.
const debianPython = "/usr/bin/python3"

// patience is for what comes in any case: a slow machine takes long to start a Python with torch.
const patience = 10 * time.Minute

// rank runs the program of the collectives as Slurm starts one of some ranks.
func rank(t *testing.T, ranks int, python string) func(string, io.Reader, io.Writer) {
	return func(node string, in io.Reader, out io.Writer) {
		c := exec.CommandContext(t.Context(), python, "-u", "collectives.py")
		c.Stdin, c.Stdout, c.Stderr = in, out, os.Stderr
		c.Env = append(os.Environ(), "SLURMD_NODENAME="+node, "SLURM_PROCID="+node[1:], "SLURM_NTASKS="+strconv.Itoa(ranks))
		if err := c.Run(); err != nil {
			t.Logf("%s: %v", node, err)
		}
	}
}

func withTorch(t *testing.T) {
	if err := exec.Command(debianPython, "-c", "import torch").Run(); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("Debian's python3-torch is missing")
		}
		t.Skip("Debian's python3-torch is missing")
	}
}

// TestCollectives measures all collectives between three processes, and its tables are read again as those of nccl-tests.
func TestCollectives(t *testing.T) {
	withTorch(t)
	nodes := []string{"n0", "n1", "n2"}
	s := startStep(t, nodes, rank(t, len(nodes), debianPython))
	var begun []string
	got, err := load.MeasureCollectives(t.Context(), load.CollectiveOptions{
		In: s.out, Out: s.in, Ranks: 3, Towards: "127.0.0.1", MaxBytes: 1 << 16, Seconds: 12, ReadyWait: patience, Begun: func(operation string) { begun = append(begun, operation) },
	})
	if err != nil || len(got.Broken)+len(got.Blind)+len(got.Wrong) > 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	var names []string
	for _, c := range got.Measured {
		names = append(names, c.Name)
		again := meter.ReadCollective([]byte(meter.Table(c)))
		if len(c.Rows) == 0 || len(again.Rows) != len(c.Rows) || again.OutOfBounds == nil || *again.OutOfBounds != 0 || again.Name != c.Name {
			t.Errorf("%s: %+v, read again %+v", c.Name, c, again)
		}
	}
	if !slices.Equal(names, load.Operations()) || !slices.Equal(begun, names) {
		t.Errorf("got %v, begun %v", names, begun)
	}
	if !strings.Contains(got.Notes["reduce_scatter"], "alltoall and a sum") || got.Torch["n2"] == "" {
		t.Errorf("got %+v", got)
	}
}

// TestCollectivesLate has no time at all: without a limit the smallest messages alone are measured, with one all are, once.
func TestCollectivesLate(t *testing.T) {
	withTorch(t)
	for _, row := range []struct {
		name         string
		limitSeconds float64
		rows         int
		note         string
	}{
		{"no_limit", 0, 1, "the time was over before messages of 32 bytes"},
		{"a_limit", 600, 4, "the time was short: messages of 8 bytes and more were measured once"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := startStep(t, []string{"n0", "n1"}, rank(t, 2, debianPython))
			got, err := load.MeasureCollectives(t.Context(), load.CollectiveOptions{
				In: s.out, Out: s.in, Ranks: 2, Towards: "127.0.0.1", MaxBytes: 512, Seconds: 1e-9, LimitSeconds: row.limitSeconds, ReadyWait: patience,
			})
			if err != nil || len(got.Measured) != len(load.Operations()) {
				t.Fatalf("%v: %+v", err, got)
			}
			for _, c := range got.Measured {
				if whole := row.limitSeconds > 0; len(c.Rows) != row.rows || c.Whole != whole || len(c.Problems) > 0 == whole || !strings.HasPrefix(got.Notes[c.Name], row.note) {
					t.Errorf("%s: %+v, noted %q", c.Name, c, got.Notes[c.Name])
				}
			}
		})
	}
}

// TestCollectivesBroken has a rank that dies: the others do not wait for it.
func TestCollectivesBroken(t *testing.T) {
	withTorch(t)
	nodes := []string{"n0", "n1"}
	s := startStep(t, nodes, func(node string, in io.Reader, out io.Writer) {
		if node == "n0" {
			rank(t, 2, debianPython)(node, in, out)
			return
		}
		_, _ = io.WriteString(out, `{"kind":"ready","node":"n1","rank":1}`+"\n"+`{"kind":"broken","node":"n1","rank":1,"why":"gone"}`+"\n")
	})
	got, err := load.MeasureCollectives(t.Context(), load.CollectiveOptions{In: s.out, Out: s.in, Ranks: 2, Towards: "127.0.0.1", MaxBytes: 1 << 10, Seconds: 1, ReadyWait: patience})
	if err == nil && len(got.Broken) == 0 || len(got.Measured) > 0 {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestCollectivesBlind has no torch on a node.
func TestCollectivesBlind(t *testing.T) {
	s := startStep(t, []string{"n0"}, func(node string, in io.Reader, out io.Writer) {
		_, _ = io.WriteString(out, `{"kind":"blind","node":"n0","rank":0,"why":"no Python here has torch"}`+"\n")
		_, _ = io.Copy(io.Discard, in)
	})
	got, err := load.MeasureCollectives(t.Context(), load.CollectiveOptions{In: s.out, Out: s.in, Ranks: 2})
	if err != nil || got.Blind["n0"] == "" {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestNCCLTestLine(t *testing.T) {
	for _, c := range []struct {
		test load.NCCLTest
		want string
	}{
		{load.NCCLTest{Program: "/opt/nccl-tests/build/all_reduce_perf"}, "/opt/nccl-tests/build/all_reduce_perf -b 8 -e 4G -f 2 -g 1"},
		{load.NCCLTest{Program: "all_reduce_perf", Min: "8G", Max: "8G"}, "all_reduce_perf -b 8G -e 8G -f 2 -g 1"},
		{load.NCCLTest{Program: "all_gather_perf", Max: "16G", Iterations: 50, JSON: "/tmp/a.json"}, "all_gather_perf -b 8 -e 16G -f 2 -g 1 -n 50 -J /tmp/a.json"},
	} {
		if got := strings.Join(c.test.Line(), " "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
