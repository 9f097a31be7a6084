package catalog_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/catalog"
)

func TestLookup(t *testing.T) {
	p5e := catalog.Instance{
		Type: "p5e.48xlarge", VCPUs: 192, ThreadsPerCore: 2, MemoryMiB: 2048 * 1024, Arch: "amd64",
		GPU: catalog.GPU{Name: "h200", Count: 8, MemoryMiB: 144384}, EFA: 32, NetworkMbps: 3200000, NVMeGB: 30400,
	}
	trn2 := catalog.Instance{
		Type: "trn2.48xlarge", VCPUs: 192, ThreadsPerCore: 2, MemoryMiB: 2048 * 1024, Arch: "amd64",
		Accelerator: "trainium2", AcceleratorCount: 16, EFA: 16, NetworkMbps: 3200000, NVMeGB: 7600,
	}
	for _, want := range []catalog.Instance{p5e, trn2} {
		got, ok := catalog.Lookup(want.Type)
		if !ok {
			t.Fatalf("%s is not found", want.Type)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Type, diff)
		}
	}
}

func TestLookup_derived(t *testing.T) {
	for _, row := range []struct {
		name           string
		vcpus, threads int
		memoryMiB      int
		arch           string
	}{
		{"c5.large", 2, 2, 4 << 10, "amd64"},
		{"c5n.18xlarge", 72, 2, 192 << 10, "amd64"},
		{"c6i.4xlarge", 16, 2, 32 << 10, "amd64"},
		{"c7g.medium", 1, 1, 2 << 10, "arm64"},
		{"c7gn.16xlarge", 64, 1, 128 << 10, "arm64"},
		{"c7i-flex.large", 2, 2, 4 << 10, "amd64"},
		{"hpc6a.48xlarge", 96, 1, 384 << 10, "amd64"},
		{"hpc7g.16xlarge", 64, 1, 128 << 10, "arm64"},
		{"i3en.24xlarge", 96, 2, 768 << 10, "amd64"},
		{"im4gn.2xlarge", 8, 1, 32 << 10, "arm64"},
		{"m5.metal", 96, 2, 384 << 10, "amd64"},
		{"m7a.48xlarge", 192, 1, 768 << 10, "amd64"},
		{"m7i.metal-24xl", 96, 2, 384 << 10, "amd64"},
		{"r6i.32xlarge", 128, 2, 1024 << 10, "amd64"},
		{"t2.micro", 1, 1, 1 << 10, "amd64"},
		{"t3.micro", 2, 2, 1 << 10, "amd64"},
		{"t3.2xlarge", 8, 2, 32 << 10, "amd64"},
		{"t4g.small", 2, 1, 2 << 10, "arm64"},
		{"u-6tb1.112xlarge", 448, 2, 6 << 20, "amd64"},
		{"u7i-12tb.224xlarge", 896, 2, 12 << 20, "amd64"},
		{"x1e.32xlarge", 128, 2, 3904 << 10, "amd64"},
		{"x2idn.32xlarge", 128, 2, 2048 << 10, "amd64"},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := catalog.Instance{
				Type: row.name, VCPUs: row.vcpus, ThreadsPerCore: row.threads, MemoryMiB: row.memoryMiB,
				Arch: row.arch, Derived: true,
			}
			got, ok := catalog.Lookup(row.name)
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("found %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestLookup_unknown(t *testing.T) {
	for _, name := range []string{
		"", ".", "p5e", "p5e.96xlarge", "p9.48xlarge", "g9.xlarge", "inf3.xlarge", "trn9.large", "dl9.24xlarge",
		"c6i.huge", "c6i.5xlarge", "c6i.medium", "m5.nano", "t3.24xlarge", "nonsense.large", "C5.large", "c5.large ",
		"hpc7a.large", "c6i.99999999999999999999xlarge", "c-6tb.112xlarge",
	} {
		if got, ok := catalog.Lookup(name); ok {
			t.Errorf("Lookup(%q) = %+v, want nothing", name, got)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"p5e.48xlarg":     "p5e.48xlarge",
		"p5e.48x":         "p5e.48xlarge",
		"P5E.48XLARGE":    "p5e.48xlarge",
		"c6i.4xlagre":     "c6i.4xlarge",
		"p6b200.48xlarge": "p6-b200.48xlarge",
		"mainframe":       "",
		"":                "",
	} {
		if got := catalog.Nearest(name); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	names := catalog.Names()
	if len(names) != 86 || !slices.IsSorted(names) {
		t.Errorf("%d names, sorted %v; want 86, true", len(names), slices.IsSorted(names))
	}
	for _, name := range names {
		in, ok := catalog.Lookup(name)
		if !ok || in.Derived || in.VCPUs == 0 || in.MemoryMiB == 0 || in.GPU.Name == "" && in.Accelerator == "" {
			t.Errorf("%s: %+v, %v", name, in, ok)
		}
	}
}

func TestInstance_JSON(t *testing.T) {
	in, _ := catalog.Lookup("c6i.large")
	got, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"c6i.large","vcpus":2,"threads_per_core":2,"memory_mib":4096,"arch":"amd64","gpu":{"count":0},` +
		`"efa":0,"network_mbps":0,"nvme_gb":0,"derived":true}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestLookup_does_not_allocate_for_listed_types(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { catalog.Lookup("p5e.48xlarge") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
