package catalog_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/catalog"
)

func TestOnDemand(t *testing.T) {
	for name, want := range map[string]float64{
		"c6i.4xlarge": 0.68, "p5.48xlarge": 55.04, "p5en.48xlarge": 63.296, "a1.2xlarge": 0.204,
		"p5e.48xlarge": 0, "trn2.48xlarge": 0, "nonsense": 0, "": 0, "2xlarge": 0,
	} {
		got, ok := catalog.OnDemand(name)
		if ok != (want > 0) || got.USD != want {
			t.Errorf("OnDemand(%q) = %v, %v; want %v", name, got.USD, ok, want)
		}
		if ok && (got.Date != "2026-07-20" || got.Source == "" || !got.Confirmed) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOnDemand_agrees_with_the_listed_types holds that the recorded prices of
// listed types are those of the list of prices.
func TestOnDemand_agrees_with_the_listed_types(t *testing.T) {
	data, err := os.ReadFile("testdata/gpu-instances.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Instances []struct {
			Type  string
			Price float64 `json:"price_usd_h"`
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	if len(recorded.Instances) != len(catalog.Names()) {
		t.Errorf("%d types are recorded, %d listed", len(recorded.Instances), len(catalog.Names()))
	}
	for _, r := range recorded.Instances {
		if got, _ := catalog.OnDemand(r.Type); got.USD != r.Price {
			t.Errorf("%s costs %v and %v", r.Type, got.USD, r.Price)
		}
		if catalog.BlockOnly(r.Type) && r.Price > 0 {
			t.Errorf("BlockOnly(%s), its price is %v", r.Type, r.Price)
		}
	}
	if !catalog.BlockOnly("p5e.48xlarge") || catalog.BlockOnly("p5.48xlarge") || catalog.BlockOnly("dl2q.24xlarge") {
		t.Error("p5e.48xlarge is sold as Capacity Blocks only, p5.48xlarge and dl2q.24xlarge are not")
	}
}

// TestPrices_are_sorted_and_whole reads the list as nobody else does: line by line.
func TestPrices_are_sorted_and_whole(t *testing.T) {
	f, err := os.Open("prices.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, _, ok := strings.Cut(lines.Text(), "\t")
		if strings.HasPrefix(name, "#") {
			continue
		}
		if _, found := catalog.OnDemand(name); !found || !ok {
			t.Errorf("%q has no price", name)
		}
		names = append(names, name)
	}
	if len(names) != 1367 || !slices.IsSorted(names) || len(slices.Compact(names)) != 1367 {
		t.Errorf("%d names, sorted %v", len(names), slices.IsSorted(names))
	}
}

func TestBlocks(t *testing.T) {
	for n, want := range map[int][]int{0: nil, 1: {1}, 64: {64}, 65: {64, 1}, 80: {64, 16}, 256: {64, 64, 64, 64}} {
		if diff := cmp.Diff(want, catalog.Blocks(n)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
	}
	for days, want := range map[float64]int{
		0: 1, 0.1: 1, 1: 1, 1.01: 2, 7: 7, 13.5: 14, 14: 14, 14.01: 21, 15: 21, 21: 21, 22: 28, 176: 182, 182: 182, 300: 182,
	} {
		if got := catalog.BlockLength(days); got != want {
			t.Errorf("%v days: got %d, want %d", days, got, want)
		}
	}
}

func TestLinks(t *testing.T) {
	for name, want := range map[string]string{
		"p5e.48xlarge": "NVLink 900", "p5.48xlarge": "NVLink 900", "p4d.24xlarge": "NVLink 600", "p6-b200.48xlarge": "NVLink 1800",
		"p6-b300.48xlarge": "NVLink 1800", "p3dn.24xlarge": "NVLink 300", "g5.48xlarge": "PCIe 0", "g6.48xlarge": "PCIe 0",
		"p5.4xlarge": "", "trn2.48xlarge": "", "c6i.large": "",
	} {
		in, _ := catalog.Lookup(name)
		got := ""
		if l, ok := in.Links(); ok {
			got = l.Kind + " " + map[int]string{0: "0", 300: "300", 600: "600", 900: "900", 1800: "1800"}[l.GBps]
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestLinks_of_all_listed_GPUs holds that no new GPU is forgotten.
func TestLinks_of_all_listed_GPUs(t *testing.T) {
	for _, name := range catalog.Names() {
		in, _ := catalog.Lookup(name)
		if l, ok := in.Links(); in.GPU.Count > 1 && (!ok || l.Source == "") {
			t.Errorf("nothing is known of what joins the GPUs of %s", name)
		}
	}
}

func TestLlama3_rate(t *testing.T) {
	rate := catalog.Llama3.PerGPUHour()
	if math.Abs(rate-1.97e-5) > 0.005e-5 {
		t.Errorf("got %g, want 1.97e-5", rate)
	}
	if every := 1 / (rate * 16384); math.Abs(every-3.1) > 0.05 {
		t.Errorf("one each %.2f h, want 3.1", every)
	}
}

func TestLustre(t *testing.T) {
	persistent := catalog.Lustre{DeploymentType: "PERSISTENT_2", PerTiB: 250, CapacityGiB: 38400}
	for _, row := range []struct {
		name   string
		lustre catalog.Lustre
		mbps   float64
		usd    float64
	}{
		{"persistent", persistent, 9600, 0.21},
		{"guide", catalog.Lustre{DeploymentType: "PERSISTENT_2", PerTiB: 1000, CapacityGiB: 7200}, 7200, 0.6},
		{"scratch", catalog.Lustre{DeploymentType: "SCRATCH_2", CapacityGiB: 1200}, 240, 0.14},
		{"disks", catalog.Lustre{DeploymentType: "PERSISTENT_1", HDD: true, PerTiB: 12, CapacityGiB: 6000}, 72, 0},
		{"not_said", catalog.Lustre{DeploymentType: "PERSISTENT_2", CapacityGiB: 1200}, 0, 0},
	} {
		price, ok := row.lustre.Price()
		if got := row.lustre.MBps(); got != row.mbps || price.USD != row.usd || ok != (row.usd > 0) {
			t.Errorf("%s: %v MB/s, $%v; want %v, %v", row.name, got, price.USD, row.mbps, row.usd)
		}
	}
	disks := catalog.Lustre{DeploymentType: "PERSISTENT_1", HDD: true, PerTiB: 12}
	for _, row := range []struct {
		lustre catalog.Lustre
		gib    int
		want   int
	}{
		{persistent, 1, 1200}, {persistent, 1200, 1200}, {persistent, 1201, 2400}, {persistent, 2401, 4800}, {persistent, 7200, 7200},
		{disks, 1, 6000}, {disks, 6001, 12000}, {catalog.Lustre{DeploymentType: "SCRATCH_1"}, 2401, 3600},
		{catalog.Lustre{}, 1, 0},
	} {
		if got := row.lustre.Fit(row.gib); got != row.want {
			t.Errorf("Fit(%v) of %+v = %d, want %d", row.gib, row.lustre, got, row.want)
		}
	}
}
