package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

// eight are the facts of a machine with eight GPUs like the one that a real machine told of, joined by NVLink, and with EFA.
func eight(t *testing.T) verify.Facts {
	t.Helper()
	text, err := os.ReadFile("../judge/testdata/h200.json")
	var f verify.Facts
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	cards, _ := f.GPU.GPUs.See()
	one := cards[0]
	one.NVLinks = verify.Saw(slices.Repeat([]float64{26.562}, 18))
	one.FabricState, one.FabricStatus = verify.Saw("Completed"), verify.Saw("Success")
	var all []verify.GPUCard
	names, paths := []string{}, [][]string{}
	for i := range 8 {
		one.Index = i
		all = append(all, one)
		names = append(names, fmt.Sprintf("GPU%d", i))
		row := slices.Repeat([]string{"NV18"}, 8)
		row[i] = "X"
		paths = append(paths, row)
	}
	f.GPU.GPUs, f.GPU.OnBus, f.GPU.Switches = verify.Saw(all), verify.Saw(8), verify.Saw(4)
	f.GPU.Topology = verify.Saw(verify.Topology{Names: names, Paths: paths})
	var devices []string
	for i := range 16 {
		devices = append(devices, fmt.Sprintf("rdmap%d", i))
	}
	f.EFA.Devices, f.EFA.Counters = verify.Saw(devices), verify.Saw(map[string]int64{"tx_bytes": 7})
	f.EFA.Domains, f.EFA.Driver = verify.Saw(map[string][]string{"efa": devices}), verify.Saw("2.17.3")
	f.EFA.Installer, f.EFA.Libfabric, f.EFA.Plugin = verify.Saw("1.47.0"), verify.Saw("2.4.0"), verify.Saw("1.17.3")
	f.Machine.KernelLines = verify.Saw([]string{})
	return f
}

// stand makes a directory with what stands in for muster on a machine, and for nccl-tests. The first look tells some facts, those that
// come after NCCL's load others. What nccl-tests is started with is in the file started.
func stand(t *testing.T, before, after verify.Facts, gbps, loop string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, f := range map[string]verify.Facts{"before": before, "after": after} {
		text, err := json.Marshal(f)
		var parts bytes.Buffer
		if err == nil {
			err = WriteParts(&parts, "node-1", text)
		}
		if err != nil {
			t.Fatal(err)
		}
		write(name, parts.String(), 0o644)
	}
	write("muster", fmt.Sprintf("#!/bin/sh\ncd %s\necho \"$*\" >>asked\nif [ -e looped ]; then cat after; else cat before; fi\n", dir), 0o755)
	if err := os.Mkdir(filepath.Join(dir, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, operation := range []string{"all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter", "alltoall"} {
		write("build/"+operation+"_perf", fmt.Sprintf(`#!/bin/bash
cd %s
echo "${0##*/} $* P2P=$NCCL_P2P_DISABLE SHM=$NCCL_SHM_DISABLE NVLS=$NCCL_NVLS_ENABLE" >>started
bus=%s
if [ "$NCCL_P2P_DISABLE" ]; then touch looped; bus=%s; fi
if [ "$bus" = broken ]; then echo 'node-1: Test NCCL failure common.cu:1005 unhandled system error' >&2; exit 3; fi
[ "$NCCL_DEBUG" != INFO ] || printf '%%s\n' "n:1:1 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)" "n:1:1 [0] NCCL INFO Using network Libfabric"
for i in 0 1 2 3 4 5 6 7; do printf '#  Rank %%2d Group  0 Pid %%6d on %%10s device %%2d [0000:53:00] NVIDIA H200\n' $i 1 n $i; done
printf '#\n%%s\n' '#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong'
printf '%%12d  %%12d     float     sum      -1  12345.6  200.00  %%s       0  12345.6  200.00  %%s       0\n' 8589934592 2147483648 "$bus" "$bus"
printf '# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %%s \n#\n' "$bus"
`, dir, gbps, loop), 0o755)
	}
	t.Setenv("NCCL_TESTS_HOME", dir)
	return dir
}

func alone(t *testing.T, dir string, suites ...string) verify.Report {
	t.Helper()
	w := World{Muster: filepath.Join(dir, "muster"), Alone: "node-1", Type: "p5en.48xlarge", Tell: func(string) {}}
	report, err := Run(t.Context(), w, Options{Suites: suites, Budget: time.Minute, Diagnosis: 2})
	if err != nil || report.Error != "" {
		t.Fatalf("%v, %s", err, report.Error)
	}
	return report
}

// resultOf is the last result of a check.
func resultOf(r verify.Report, check string) (last verify.Result) {
	for _, s := range r.Suites {
		for _, one := range s.Results {
			if one.Check == check {
				last = one
			}
		}
	}
	return last
}

// TestAlone runs the suites of a new machine without Slurm, as what tells of a real GPU and programs that print what nccl-tests does would
// have it: one process has all GPUs, NVLink is judged, and EFA is at work, too.
func TestAlone(t *testing.T) {
	after := eight(t)
	after.EFA.Counters = verify.Saw(map[string]int64{"tx_bytes": 8 << 30})
	dir := stand(t, eight(t), after, "478.31", "92.50")
	r := alone(t, dir, verify.GPU, verify.NCCL)
	for check, want := range map[string]verify.Verdict{
		"gpu-count": verify.Pass, "gpu-topology": verify.Pass, "gpu-dcgm": verify.Blind, "all-reduce-bandwidth": verify.Pass, "nccl-network": verify.Pass,
		"nccl-nics": verify.Pass, "nccl-loop": verify.Pass, "efa-counters": verify.Pass,
	} {
		if got := resultOf(r, check); got.Verdict != want {
			t.Errorf("%s: %+v", check, got)
		}
	}
	if got := resultOf(r, "nccl-loop").Found; got != "bus bandwidth 92.5 GB/s with messages of 1G over 16 EFA devices" {
		t.Errorf("the loop: %s", got)
	}
	started, _ := os.ReadFile(filepath.Join(dir, "started"))
	for _, want := range []string{"all_reduce_perf -b 8 -e 4G -f 2 -g 8 -n 20 P2P= SHM= NVLS=\n", "all_reduce_perf -b 1G -e 1G -f 2 -g 8 -n 20 P2P=1 SHM=1 NVLS=0\n"} {
		if !strings.Contains(string(started), want) {
			t.Errorf("started %s", started)
		}
	}
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if !strings.Contains(string(asked), " --diagnosis=2") {
		t.Errorf("asked %s", asked)
	}
	f := verify.FitnessOf(r, Unfit(r))
	if f.Unfit != "" || !strings.Contains(f.Said, "all-reduce-bandwidth 478.3 GB/s") || !strings.Contains(f.Blind, "gpu-dcgm: this machine has no dcgmi") {
		t.Errorf("%+v", f)
	}
}

// TestAloneUnfit: what a machine is, or did under load, makes it unfit; what cannot be told does not.
func TestAloneUnfit(t *testing.T) {
	well := eight(t)
	worn := eight(t)
	cards, _ := worn.GPU.GPUs.See()
	cards = slices.Clone(cards)
	cards[3].ECCVolatile = verify.Saw(int64(2))
	worn.GPU.GPUs = verify.Saw(cards)
	gone := eight(t)
	gone.GPU.GPUs, gone.GPU.OnBus = verify.Saw(cards[:7]), verify.Saw(7)
	dark := eight(t)
	dark.GPU.GPUs, dark.GPU.OnBus = verify.Unseen[[]verify.GPUCard]("no nvidia-smi"), verify.Unseen[int]("no right")
	for name, c := range map[string]struct {
		before, after verify.Facts
		gbps, loop    string
		unfit, warn   string
	}{
		"well":                {well, well, "478", "92", "", "efa-counters: none rose"},
		"slow_nvlink":         {well, well, "190", "92", "all-reduce-bandwidth: bus bandwidth 190 GB/s with messages of 8 GiB", ""},
		"ecc_under_load":      {well, worn, "478", "92", "gpu-ecc-errors: GPU 3: 2 errors", ""},
		"a_gpu_is_missing":    {gone, gone, "478", "92", "gpu-count: 7 GPUs", ""},
		"nccl_breaks":         {well, well, "broken", "broken", "nccl-tests: all_reduce_perf ended with an error", "nccl-loop: they do not"},
		"nobody_can_look":     {dark, dark, "478", "92", "", ""},
		"the_network_is_down": {well, well, "478", "broken", "", "nccl-loop: they do not"},
	} {
		t.Run(name, func(t *testing.T) {
			f := verify.FitnessOf(report(alone(t, stand(t, c.before, c.after, c.gbps, c.loop), verify.GPU, verify.NCCL)))
			if (f.Unfit == "") != (c.unfit == "") || !strings.Contains(f.Unfit, c.unfit) || !strings.Contains(f.Warn, c.warn) {
				t.Errorf("unfit %q, warn %q, blind %q", f.Unfit, f.Warn, f.Blind)
			}
			if name == "nobody_can_look" && (f.Blind == "" || !strings.Contains(f.Blind, "no nvidia-smi")) {
				t.Errorf("blind %q", f.Blind)
			}
		})
	}
}

func report(r verify.Report) (verify.Report, []verify.Result) { return r, Unfit(r) }

// TestUnfitLeavesImages: what an image has wrong, a new machine would have, too.
func TestUnfitLeavesImages(t *testing.T) {
	fail := func(check string) verify.Result { return verify.Result{Check: check, On: "n", Verdict: verify.Fail} }
	r := verify.Report{Suites: []verify.Suite{
		{Name: verify.Host, Results: []verify.Result{fail("gpu-driver"), fail("scratch")}},
		{Name: verify.GPU, Results: []verify.Result{fail("gpu-persistence"), fail("gpu-fabric")}},
		{Name: verify.EFA, Results: []verify.Result{fail("efa-plugin"), fail("efa-devices")}},
		{Name: verify.NCCL, Results: []verify.Result{fail("nccl-network"), fail("nccl-nics"), fail("all-gather-data")}},
		{Name: verify.Storage, Results: []verify.Result{{Check: "storage-measured", Verdict: verify.Blind}, fail("storage-bytes")}},
		{Name: verify.Collectives, Results: []verify.Result{fail("ranks"), {Check: "x", Verdict: verify.Warn}}},
	}}
	var got []string
	for _, u := range Unfit(r) {
		got = append(got, u.Check)
	}
	if want := []string{"gpu-fabric", "efa-devices", "all-gather-data", "storage-bytes", "ranks"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestHolderAlone: what holds this machine removes what is left, and says what it could not.
func TestHolderAlone(t *testing.T) {
	for name, c := range map[string]struct{ program, input, want, says string }{
		"nothing": {"exit 1", "", "", ""},
		"all":     {"exit 0", "M\nONE\n/a b\nM\nTWO\n/b\n\nONE\n/a b\n", "agent verify storage end /b --run=TWO\n", ""},
		"cut_off": {"exit 0", "M\nONE\n", "", ""},
		"later":   {`[ "$(wc -l <"$LOG")" -gt 1 ] || echo '{"fault":"io"}'`, "M\nONE\n/a\n", "agent verify storage end /a --run=ONE\nagent verify storage end /a --run=ONE\n", ""},
		"never":   {"exit 1", "M\nONE\n/a\n", strings.Repeat("agent verify storage end /a --run=ONE\n", 5), ".muster-verify-ONE may be left in /a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program, log := filepath.Join(dir, "muster"), filepath.Join(dir, "log")
			if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$*\" >>\"$LOG\"\n"+c.program+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", holderAlone)
			cmd.Env, cmd.Stdin = append(os.Environ(), "LOG="+log), strings.NewReader(strings.ReplaceAll(c.input, "M\n", program+"\n"))
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			did, _ := os.ReadFile(log)
			if string(out) != "alone\n" || string(did) != c.want || said.String() != c.says || (err != nil) != (c.says != "") {
				t.Errorf("wrote %q, did %q, said %q: %v", out, did, &said, err)
			}
		})
	}
}

// TestUnfitAfterACut: ranks that were ended with their time do not say that they broke.
func TestUnfitAfterACut(t *testing.T) {
	ranks := verify.Result{Check: "ranks", On: "n", Verdict: verify.Fail}
	wrong := verify.Result{Check: "all-reduce-data", On: "n", Verdict: verify.Fail}
	for _, c := range []struct {
		error, why string
		want       int
	}{{"", "", 2}, {"the budget of 1m0s is spent", "", 1}, {"", "it takes longer than 5m0s", 1}} {
		r := verify.Report{Error: c.error, Suites: []verify.Suite{{Name: verify.Collectives, Why: c.why, Results: []verify.Result{ranks, wrong}}}}
		if got := Unfit(r); len(got) != c.want || got[len(got)-1].Check != "all-reduce-data" {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestAllocationRead ends what says something else than it should, and does not wait for it.
func TestAllocationRead(t *testing.T) {
	for _, word := range []string{"0 x y", "", "no"} {
		q := request{alone: true, limit: time.Minute}
		a, err := allocate(t.Context(), q, func(int, time.Duration) {})
		if err != nil {
			t.Fatal(err)
		}
		a.alone = false
		if err := a.read(word + "\n"); err == nil {
			t.Errorf("%q was read", word)
		}
		_ = a.close()
	}
}

// TestWorseOf: what load has brought about and what lasts is a result, once.
func TestWorseOf(t *testing.T) {
	fail := func(check, on string) verify.Result {
		return verify.Result{Check: check, On: on, Verdict: verify.Fail, Why: "so"}
	}
	before := []verify.Result{fail("gpu-remap", "n"), {Check: "gpu-ecc-errors", On: "n", Verdict: verify.Pass}}
	after := []verify.Result{fail("gpu-remap", "n"), fail("gpu-ecc-errors", "n"), fail("gpu-temperature", "n"), fail("gpu-throttle", "n"), {Check: "gpu-ecc", Verdict: verify.Blind}}
	got := worseOf(before, after)
	if len(got) != 1 || got[0].Check != "gpu-ecc-errors" || got[0].Why != "so; it was not so before the load" {
		t.Errorf("%+v", got)
	}
}

// TestAloneBeside: what nobody has published of a machine alone is held against a machine that was well.
func TestAloneBeside(t *testing.T) {
	well := eight(t)
	good := alone(t, stand(t, well, well, "478", "92"), verify.NCCL)
	good.Nodes, good.Suites[0].Results = []string{"node-7"}, slices.Clone(good.Suites[0].Results)
	for i := range good.Suites[0].Results {
		good.Suites[0].Results[i].On = "node-7"
	}
	dir := stand(t, well, well, "478", "31")
	w := World{Muster: filepath.Join(dir, "muster"), Alone: "node-1", Type: "p5en.48xlarge", Tell: func(string) {}}
	r, err := Run(t.Context(), w, Options{Suites: []string{verify.NCCL}, Budget: time.Minute, Earlier: &judge.Earlier{Report: good, Name: "good.json"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := resultOf(r, "nccl-loop"); got.Verdict != verify.Fail || got.Why != "it is 3.0 times worse than it was" {
		t.Errorf("%+v", got)
	}
}

// TestHolding finds the file system of a directory: the deepest, and of those at one place the one that was mounted last.
func TestHolding(t *testing.T) {
	mounts := []verify.Mount{{Dir: "/", Source: "root"}, {Dir: "/var", Source: "var"}, {Dir: "/scratch", Source: "old"}, {Dir: "/scratch", Source: "new"}}
	for dir, want := range map[string]string{"/": "root", "/tmp/x": "root", "/var": "var", "/var/tmp": "var", "/variable": "root", "/scratch/a": "new"} {
		if got := holding(mounts, dir).Source; got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
	if got := holding(nil, "/a"); got.Dir != "" {
		t.Errorf("of nothing: %+v", got)
	}
}
