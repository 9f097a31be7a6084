package plan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

func TestMTBF(t *testing.T) {
	for gpus, hours := range map[int]float64{640: 79, 88: 24 * 24, 112: 18.85 * 24, 16384: 3.1} {
		if got := plan.MTBF(gpus); !near(got, hours, hours/100) {
			t.Errorf("%d GPUs: one in %.1f h, want %.1f", gpus, got, hours)
		}
	}
	if got := 14 * 24 / plan.MTBF(640); !near(got, 4.2, 0.05) {
		t.Errorf("%.2f interruptions in two weeks, want 4.2", got)
	}
}

func TestInterval(t *testing.T) {
	for write, minutes := range map[float64]float64{30: 69, 60: 97, 300: 218} {
		got, formula := plan.Interval(write, 3600*plan.MTBF(640))
		if math.Round(got/60) != minutes || formula != "Young" {
			t.Errorf("%v s: every %.1f min by %s, want %v by Young", write, got/60, formula, minutes)
		}
	}
	for _, row := range []struct {
		write, mtbf, want float64
		formula           string
	}{
		{100, 10000, math.Sqrt(2 * 100 * 10000), "Young"},
		{1000, 10000, 3830.3, "Daly"},
		{20000, 10000, 10000, "Daly"},
		{30000, 10000, 10000, "Daly"},
	} {
		got, formula := plan.Interval(row.write, row.mtbf)
		if !near(got, row.want, 0.1) || formula != row.formula {
			t.Errorf("%v of %v: got %.1f by %s, want %.1f by %s", row.write, row.mtbf, got, formula, row.want, row.formula)
		}
	}
}

// TestInterval_is_nearly_the_best holds the formulas against what they
// approximate: no other interval has a goodput that is notably better.
func TestInterval_is_nearly_the_best(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		mtbf := 1e3 * math.Pow(10, 3*r.Float64())
		write := mtbf * 0.05 * r.Float64()
		interval, _ := plan.Interval(write, mtbf)
		mine := plan.Goodput(interval, write, 0, mtbf)
		for _, factor := range []float64{0.3, 0.5, 0.8, 1.25, 2, 3} {
			if other := plan.Goodput(interval*factor, write, 0, mtbf); other > mine+0.005 {
				t.Errorf("seed %d: %.3g of %.3g: %.4f with %.3g s, %.4f with %.3g s", seed, write, mtbf, mine, interval, other, interval*factor)
			}
		}
	}
}

func TestGoodput_is_a_part(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		if g := plan.Goodput(1e5*r.Float64()+1, 1e4*r.Float64(), 1e4*r.Float64(), 1e5*r.Float64()+1); g < 0 || g > 1 {
			t.Errorf("seed %d: %v", seed, g)
		}
	}
	if g := plan.Goodput(1, 0, 3600, 3600-0.5); math.Abs(g-0.5) > 1e-3 {
		t.Errorf("got %v of a job that waits as long as it computes, want a half", g)
	}
	if g := plan.Goodput(3600, 0, 0, math.Inf(1)); g != 1 {
		t.Errorf("got %v without failures, want 1", g)
	}
}

func TestSpares(t *testing.T) {
	for _, row := range []struct {
		expected float64
		want     int
	}{{0, 0}, {0.05, 0}, {0.0526, 1}, {0.3, 1}, {0.36, 2}, {1, 3}, {4.2, 8}, {600, 641}} {
		if got := plan.Spares(row.expected); got != row.want {
			t.Errorf("%v expected: got %d, want %d", row.expected, got, row.want)
		}
	}
	last := 0
	for x := 0.0; x < 700; x += 0.7 {
		got := plan.Spares(x)
		if got < last {
			t.Errorf("%v expected need %d, less than fewer do", x, got)
		}
		last = got
	}
}

func TestBytesPerParameter(t *testing.T) {
	for name, want := range map[string][2]float64{
		"adam bf16": {14, 2}, "adamw fp16": {14, 2}, "adam fp32": {12, 4}, "adam8bit bf16": {8, 2}, "lion bf16": {10, 2},
		"sgd fp32": {8, 4}, "adafactor bf16": {6, 2}, "none bf16": {2, 2}, "none fp32": {4, 4},
	} {
		optimizer, precision, _ := strings.Cut(name, " ")
		if all, weights := plan.BytesPerParameter(optimizer, precision); all != want[0] || weights != want[1] {
			t.Errorf("%s: got %v and %v, want %v", name, all, weights, want)
		}
	}
}

const lustre = "SharedStorage:\n  - {MountDir: /fsx, Name: fsx, StorageType: FsxLustre, FsxLustreSettings: " +
	"{StorageCapacity: 38400, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250}}\n"

// TestNew_checkpoints holds the reference's example: 70 B parameters are about
// 1 TB, which 9.6 GB/s write in about 105 s.
func TestNew_checkpoints(t *testing.T) {
	file := queue("InstanceType: p5.48xlarge, MaxCount: 80") + lustre
	e := answer(t, ask(t, file, "Run: {Days: 14}\nModels: [{Name: m, Nodes: 80, Parameters: 70B, Checkpoints: /fsx/m}]"))
	c := e.Models[0].Checkpoint
	if c.Bytes != 980e9 || c.FileSystem != "fsx" || !near(c.WriteSeconds, 102, 0.1) || c.Formula != "Young" || !near(c.IntervalSeconds, 7627, 5) {
		t.Errorf("got %+v", c)
	}
	u := e.FileSystems[0].Use
	if u.OneBytes != 980e9 || u.KeptBytes != 3*980e9 || u.Fits != 42 || u.WantedGiB != 0 {
		t.Errorf("got %+v", u)
	}
	if want := e.Models[0].Expected * (15*60 + (c.IntervalSeconds+c.WriteSeconds)/2) / 3600; !near(c.LostHours, want, 1e-9) {
		t.Errorf("%v h are lost, want %v", c.LostHours, want)
	}
}

func TestNew_checkpoints_are_limited_by_few_clients(t *testing.T) {
	file := queue("InstanceType: p5.48xlarge, MaxCount: 2") + strings.Replace(lustre, "250", "1000", 1)
	e := answer(t, ask(t, file, "Models: [{Name: m, Nodes: 2, Parameters: 100B, BytesPerParameter: 16, Checkpoints: /fsx}]"))
	// Two nodes write 2 x 100 Gbps, though the file system takes 38.4 GB/s.
	if c := e.Models[0].Checkpoint; !near(c.WriteSeconds, 1.6e12/25e9, 0.01) || c.WeightBytes != 0 {
		t.Errorf("got %+v", c)
	}
}

func TestNew_finds_where_checkpoints_are(t *testing.T) {
	file := queue("InstanceType: p5.48xlarge, MaxCount: 4") + lustre
	for name, row := range map[string][2]string{
		"said":                   {"Models: [{Name: m, Nodes: 1, Parameters: 1B, Checkpoints: '/fsx/{model}/c'}]", "/fsx/m/c"},
		"a_directory_called_so":  {"Models: [{Name: m, Nodes: 1, Parameters: 1B}]\nDirectories: [{Path: '/fsx/{model}/checkpoints'}]", "/fsx/m/checkpoints"},
		"one_of_all_models":      {"Models: [{Name: m, Nodes: 1, Parameters: 1B}]\nDirectories: [{Path: /fsx/checkpoints}]", ""},
		"another_of_the_model":   {"Models: [{Name: m, Nodes: 1, Parameters: 1B}]\nDirectories: [{Path: '/fsx/{model}/logs'}]", ""},
		"a_directory_of_another": {"Models: [{Name: m, Nodes: 1, Parameters: 1B}]\nDirectories: [{Path: /fsx/n/checkpoints}]", ""},
	} {
		e := answer(t, ask(t, file, row[0]))
		if c := e.Models[0].Checkpoint; c.Dir != row[1] || (c.FileSystem != "") != (row[1] != "") || (c.WriteSeconds > 0) != (row[1] != "") {
			t.Errorf("%s: got %+v, want %q", name, c, row[1])
		}
	}
}

func TestNew_sizes_a_file_system_that_is_too_small(t *testing.T) {
	file := queue("InstanceType: p5.48xlarge, MaxCount: 2") +
		"SharedStorage:\n  - {MountDir: /fsx, Name: fsx, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 1200}}\n"
	e := answer(t, ask(t, file, "Models: [{Name: m, Nodes: 2, Parameters: 70B, Checkpoints: /fsx, KeepCheckpoints: 4}]"))
	// 3.92 TB, four fifths full, are 4564 GiB, and Lustre has 4800.
	if u := e.FileSystems[0].Use; u.Fits != 1 || u.WantedGiB != 4800 {
		t.Errorf("got %+v", u)
	}
	if !slices.ContainsFunc(e.Notes, func(n string) bool { return strings.HasPrefix(n, "/fsx does not hold") }) {
		t.Errorf("no note says so: %v", e.Notes)
	}
}

func TestNew_knows_no_rate_for_what_has_no_GPU(t *testing.T) {
	for _, instance := range []string{"c6i.large", "trn1.32xlarge"} {
		e := answer(t, ask(t, queue("InstanceType: "+instance+", MaxCount: 2"), "Run: {Days: 14}\nModels: [{Name: m, Nodes: 2}]"))
		if m := e.Models[0]; m.NodeList != "q-dy-r-[1-2]" || m.MTBFHours != 0 || m.Expected != 0 || e.Failures.GPUs != 0 || e.Failures.MTBFHours != 0 {
			t.Errorf("%s: %+v, %+v", instance, m, e.Failures)
		}
	}
}

func TestNew_paths(t *testing.T) {
	var words strings.Builder
	for _, row := range []struct {
		resource string
		from, to int
		want     string
	}{
		{"InstanceType: p5e.48xlarge, MaxCount: 2, Efa: {Enabled: true}", 0, 7, "NVLink 900 GB/s, 0 Gbps, 0"},
		{"InstanceType: p5e.48xlarge, MaxCount: 2, Efa: {Enabled: true}", 0, 8, "EFA 0 GB/s, 3200 Gbps, 400"},
		{"InstanceType: p5e.48xlarge, MaxCount: 2", 15, 0, "TCP 0 GB/s, 0 Gbps, 0"}, // far below the 3200 Gbps of 32 cards
		{"Instances: [{InstanceType: p5.48xlarge}, {InstanceType: p4d.24xlarge}], MaxCount: 2", 1, 2, "NVLink 600 GB/s, 0 Gbps, 0"},
		{"Instances: [{InstanceType: p5.48xlarge}, {InstanceType: p4d.24xlarge}], MaxCount: 2, Efa: {Enabled: true}", 0, 8, "EFA 0 GB/s, 400 Gbps, 50"},
		{"InstanceType: p6-b200.48xlarge, MaxCount: 2", 1, 2, "NVLink 1800 GB/s, 0 Gbps, 0"},
		{"InstanceType: p4d.24xlarge, MaxCount: 2", 1, 2, "NVLink 600 GB/s, 0 Gbps, 0"},
		{"InstanceType: g5.48xlarge, MaxCount: 2", 1, 2, "PCIe 0 GB/s, 0 Gbps, 0"},
		{"InstanceType: g6.12xlarge, MaxCount: 2", 0, 4, "TCP 0 GB/s, 40 Gbps, 10"},
		{"InstanceType: g6.12xlarge, MaxCount: 2, Efa: {Enabled: true}", 0, 4, "EFA 0 GB/s, 40 Gbps, 10"},
		{"InstanceType: g4dn.xlarge, MaxCount: 2", 0, 1, "TCP 0 GB/s, 5 Gbps, 5"},
		{"InstanceType: trn2.48xlarge, MaxCount: 2", 0, 1, " 0 GB/s, 0 Gbps, 0"},
		{"InstanceType: p5e.48xlarge, MaxCount: 2", 3, 3, " 0 GB/s, 0 Gbps, 0"},
	} {
		e := answer(t, ask(t, queue(row.resource), "Models: [{Name: m, Nodes: 2}]"))
		p, err := e.Models[0].Path(row.from, row.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %d GB/s, %d Gbps, %g", p.Over, p.GBps, p.NodeGbps, p.GPUGbps); got != row.want || p.What == "" || (p.Over == "") != (p.Source == "") {
			t.Errorf("%s, %d to %d: got %s (%+v), want %s", row.resource, row.from, row.to, got, p, row.want)
		}
		fmt.Fprintf(&words, "%s, %d to %d:\n\t%s\n", row.resource, row.from, row.to, p.What)
	}
	golden.Check(t, "paths.txt", words.String())
	e := answer(t, ask(t, queue("InstanceType: p5.48xlarge, MaxCount: 2"), "Models: [{Name: m, Nodes: 2}]"))
	for _, pair := range [][2]int{{-1, 0}, {0, 16}} {
		if _, err := e.Models[0].Path(pair[0], pair[1]); err == nil || !strings.HasSuffix(err.Error(), ": its ranks are 0 to 15") {
			t.Errorf("%v: got %v", pair, err)
		}
	}
}
