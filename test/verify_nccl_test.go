package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ncclTests stands in for a program of nccl-tests: what it prints is that of the real one, with a bandwidth that depends on whether the
// slow node takes part. NCCL's own lines are there where it is asked for them.
const ncclTests = `#!/bin/bash
set -eu
echo "$0 $* NCCL_DEBUG=$NCCL_DEBUG" >>DIR/started.$SLURM_PROCID
[ "$NCCL_DEBUG" != INFO ] || printf '%s\n' "n:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)" "n:1:1 [0] NCCL INFO Using network Libfabric"
[ "$SLURM_PROCID" = 0 ] || exit 0
while [ $# -gt 0 ]; do case $1 in -b) least=$2;; -e) most=$2;; esac; shift; done
bus=365.00
case " $(scontrol show hostnames "$SLURM_STEP_NODELIST" | tr '\n' ' ') " in *" $(cat DIR/slow) "*) bus=' 90.00';; esac
for ((i = 0; i < SLURM_NTASKS; i++)); do printf '#  Rank %2d Group  0 Pid %6d on %10s device %2d [0000:53:00] NVIDIA H200\n' $i $i n $((i % 8)); done
printf '#\n%s\n' '#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong'
size=${most%G}; case $most in *G) size=$((${most%G} << 30));; *M) size=$((${most%M} << 20));; esac
printf '%12d  %12d     float     sum      -1  12345.6  200.00  %s       0  12345.6  200.00  %s       0\n' $size $((size / 4)) "$bus" "$bus"
printf '# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %s \n#\n' $bus
`

// TestVerifyNCCL runs the suite nccl by Slurm, with stand-ins for nccl-tests' programs: what it is asked for, that an earlier report is what
// it is held against, and that pairs of nodes find the slow one.
func TestVerifyNCCL(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(3)+dataFile)
	c.file("slow", "nobody\n")
	if err := os.Mkdir(filepath.Join(c.dir, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter", "alltoall"} {
		program := "build/" + name + "_perf"
		c.file(program, strings.ReplaceAll(ncclTests, "DIR", c.dir))
		if err := os.Chmod(filepath.Join(c.dir, program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(more string) (v verified) {
		t.Helper()
		r := c.run("exec", "--", "sh", "-c", fmt.Sprintf("NCCL_TESTS_HOME=%s exec /opt/muster/bin/muster verify nccl --here --nodes 3 --yes -o json %s", c.dir, more))
		if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
			t.Fatalf("%v, exit code %d: %s%s", err, r.code, r.stdout, r.stderr)
		}
		return v
	}
	v := run("--report " + filepath.Join(c.dir, "accepted"))
	c.holds(v, "pass", "all-reduce-data", "all-reduce-bandwidth", "alltoall-bandwidth")
	if found := v.results("nccl-node"); len(found) > 0 {
		t.Errorf("slow without a fault: %+v", found)
	}
	started := strings.Split(strings.TrimSpace(c.read("started.23")), "\n")
	short, long := filepath.Join(c.dir, "build/all_reduce_perf")+" -b 8 -e 32M -f 2 -g 1 -n 5 NCCL_DEBUG=INFO", filepath.Join(c.dir, "build/reduce_scatter_perf")+" -b 8 -e 4G -f 2 -g 1 -n 20 NCCL_DEBUG=WARN"
	if len(started) != 7 || started[0] != short || !slices.Contains(started, long) {
		t.Errorf("the last rank started %q", started)
	}
	c.file("slow", "gpu-dy-p5e-2\n")
	v = run("--baseline " + filepath.Join(c.dir, "accepted/report.json"))
	c.holds(v, "fail", "all-reduce-bandwidth")
	found := v.results("nccl-node")
	if len(found) != 1 || found[0].On != "gpu-dy-p5e-2" || found[0].Verdict != "fail" {
		t.Errorf("found %+v in %+v", found, v)
	}
}
