package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/meter"
	"github.com/muster-hpc/muster/internal/verify/pairs"
)

// TestWithoutGPUs says that nodes have none only where they were seen to have none.
func TestWithoutGPUs(t *testing.T) {
	bus := func(l verify.Look[int]) verify.Facts { return verify.Facts{GPU: verify.GPUFacts{OnBus: l}} }
	none, some, dark := bus(verify.Saw(0)), bus(verify.Saw(8)), bus(verify.Unseen[int]("no right"))
	for _, c := range []struct {
		name, hidden string
		facts        map[string]verify.Facts
		want         verify.Verdict
		why          string
	}{
		{"seen_to_have_none", "", map[string]verify.Facts{"n1": none, "n2": none}, verify.Skip, "have no GPUs"},
		{"gpus_that_slurm_does_not_count", "", map[string]verify.Facts{"n1": none, "n2": some}, verify.Blind, "n2 has 8"},
		{"unseen", "", map[string]verify.Facts{"n1": none, "n2": dark}, verify.Blind, "nobody could look"},
		{"silent", "", map[string]verify.Facts{"n1": none}, verify.Blind, "nobody could look"},
		{"hidden", "only some have GPUs", map[string]verify.Facts{"n1": none, "n2": none}, verify.Blind, "only some"},
	} {
		r := withoutGPUs([]string{"n1", "n2"}, c.hidden, c.facts)
		if r.Verdict != c.want || !strings.Contains(r.Why, c.why) || r.Required != (c.want == verify.Blind) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestLostGPUs fails a node only where it was seen to have no GPUs, and Slurm gives some.
func TestLostGPUs(t *testing.T) {
	for _, c := range []struct {
		name  string
		bus   verify.Look[int]
		given int
		fails bool
	}{
		{"none_of_eight", verify.Saw(0), 8, true},
		{"one_of_eight", verify.Saw(1), 8, false}, // which the count of them judges
		{"none_is_given", verify.Saw(0), 0, false},
		{"unseen", verify.Unseen[int]("no right"), 8, false},
		{"nobody_looked", verify.Look[int]{}, 8, false},
	} {
		got := lostGPUs("n1", verify.Facts{GPU: verify.GPUFacts{OnBus: c.bus}}, c.given)
		if len(got) > 0 != c.fails || c.fails && (got[0].Verdict != verify.Fail || got[0].On != "n1" || got[0].Want != "8 GPUs" || !got[0].Required) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestSpoken keeps the whole table and what NCCL chose, however much its channels say.
func TestSpoken(t *testing.T) {
	wrong := int64(0)
	text := meter.Table(meter.Collective{Name: "all_reduce", OutOfBounds: &wrong, AvgBusGBps: 1, Rows: []meter.Row{
		{Bytes: 8, Count: 2, Type: "float", RedOp: "sum", Root: -1, OutOfPlace: &meter.Measure{TimeUs: 30, BusGBps: 0.01, Wrong: &wrong}},
		{Bytes: 4 << 30, Count: 1 << 30, Type: "float", RedOp: "sum", Root: -1, OutOfPlace: &meter.Measure{TimeUs: 9000, BusGBps: 470, Wrong: &wrong}},
	}})
	var s spoken
	channel := "n1:1:2 [3] NCCL INFO Channel 00/0 : 3[3] -> 14[6] [send] via NET/Libfabric/3/GDRDMA"
	for range 2 * mostRest / len(channel) {
		s.take(channel)
	}
	s.take("n1:1:2 [3] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)")
	s.take("n1:1:2 [3] NCCL INFO Using network Libfabric")
	for line := range strings.Lines(text) {
		s.take(strings.TrimRight(line, "\n"))
	}
	if c := meter.ReadCollective([]byte(s.table.String())); !c.Whole || len(c.Rows) != 2 {
		t.Errorf("the table: %+v", c)
	}
	n := meter.ReadNCCL([]byte(s.all()))
	if len(n.Selected) != 1 || n.Selected[0].NICs != 16 || len(n.Networks) != 1 || len(n.Transports) != 1 || len(s.all()) > meter.Limit {
		t.Errorf("NCCL: %+v", n)
	}
}

// TestSearched finds the node whose EFA is slow, and the one that does not answer, in no more rounds than the search may take, with all
// pairs of a round at once.
func TestSearched(t *testing.T) {
	for _, size := range []int{3, 5, 8, 16, 64} {
		for _, dead := range []bool{false, true} {
			var nodes []string
			for i := range size {
				nodes = append(nodes, fmt.Sprintf("n%d", i+1))
			}
			guilty := nodes[size/2]
			var once sync.Mutex // guards met
			met := map[string]int{}
			seen := searched(t.Context(), nodes, 7, func(_ context.Context, a, b string) (float64, error) {
				once.Lock()
				met[a], met[b] = met[a]+1, met[b]+1
				once.Unlock()
				switch {
				case a != guilty && b != guilty:
					return 300 + float64(len(a+b)), nil
				case dead:
					return 0, errors.New("it took longer than 3m")
				}
				return 90, nil
			}, func(string) {})
			if len(seen.Rounds) > pairs.Most(size) {
				t.Errorf("%d nodes: %d rounds", size, len(seen.Rounds))
			}
			var sure []string
			for _, x := range seen.Suspects {
				if x.Sure {
					sure = append(sure, x.Node)
				}
			}
			if !slices.Equal(sure, []string{guilty}) {
				t.Errorf("%d nodes, dead %t: found %+v", size, dead, seen.Suspects)
			}
			for _, round := range seen.Rounds {
				for _, p := range round {
					if (p.Err != "") != (dead && (p.A == guilty || p.B == guilty)) {
						t.Errorf("%+v", p)
					}
				}
			}
		}
	}
}

// TestSearchedCutOff takes nothing of a round that the budget cut off: nobody is accused of it.
func TestSearchedCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := searched(ctx, []string{"a", "b", "c", "d"}, 1, func(ctx context.Context, _, _ string) (float64, error) {
		cancel()
		return 0, ctx.Err()
	}, func(string) {})
	if len(seen.Rounds) > 0 || len(seen.Suspects) > 0 {
		t.Errorf("got %+v", seen)
	}
}

// TestFindNCCLTests finds nccl-tests where images have them, one that is built with MPI first.
func TestFindNCCLTests(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	find := func() []string {
		cmd := exec.Command("/bin/sh", "-c", load.FindNCCLTests)
		cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "NCCL_TESTS_HOME=" + dir}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Fields(string(out))
	}
	if got := find(); len(got) > 0 {
		t.Errorf("found %v", got)
	}
	plain := put("bin/all_reduce_perf")
	if got := find(); !slices.Equal(got, []string{plain}) {
		t.Errorf("found %v", got)
	}
	home, mpi := put("build/all_reduce_perf"), put("bin/all_reduce_perf_mpi")
	if got := find(); !slices.Equal(got, []string{mpi, home, plain}) {
		t.Errorf("found %v", got)
	}
	if got := load.NCCLTestOf(mpi, "reduce_scatter"); got != filepath.Join(dir, "bin/reduce_scatter_perf_mpi") {
		t.Errorf("got %s", got)
	}
	if got := load.NCCLTestLibraries("/usr/local/cuda-12.8/efa/test-cuda-12.8/all_reduce_perf"); !strings.HasPrefix(got, "/usr/local/cuda-12.8/lib:") || load.NCCLTestLibraries(plain) != "" {
		t.Errorf("got %s", got)
	}
}
