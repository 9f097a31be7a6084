package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/catalog"
)

const newer = `{"region": "eu-west-1", "date": "2027-01-31", "types": [
	{"type": "p9.48xlarge", "vcpus": 64, "threads_per_core": 1, "memory_mib": 1024, "arch": "arm64", "gpu": {"name": "x1", "count": 4},
	 "efa": 4, "network_cards": 5, "cluster_placement_group": true, "capacity_block": true, "zones": ["eu-west-1a"]},
	{"type": "c6i.large", "vcpus": 2, "threads_per_core": 2, "memory_mib": 4096, "arch": "amd64", "network_cards": 1, "spot": true, "usd_per_hour": 0.1}]}`

// beside puts a newer list beside the built-in one until the test ends.
func beside(t *testing.T, text string) {
	t.Helper()
	n, err := catalog.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	catalog.Beside(func() *catalog.Newer { return n })
	t.Cleanup(func() { catalog.Beside(func() *catalog.Newer { return nil }) })
}

func TestNewer_stands_before_the_built_in_list(t *testing.T) {
	beside(t, newer)
	if in, ok := catalog.Lookup("p9.48xlarge"); !ok || in.GPU.Name != "x1" || in.Derived {
		t.Errorf("p9.48xlarge: %+v, %t", in, ok)
	}
	if in, ok := catalog.Lookup("p5e.48xlarge"); !ok || in.GPU.Name != "h200" {
		t.Errorf("p5e.48xlarge is gone: %+v, %t", in, ok)
	}
	traits, ok := catalog.TraitsOf("p9.48xlarge")
	if want := (catalog.Traits{EFA: 4, Cards: 5, ClusterGroup: true, CapacityBlock: true}); !ok || traits != want {
		t.Errorf("traits %+v, %t; want %+v", traits, ok, want)
	}
	if !catalog.BlockOnly("p9.48xlarge") {
		t.Error("p9.48xlarge has a price on demand")
	}
	price, ok := catalog.OnDemand("c6i.large")
	want := catalog.Price{USD: 0.1, Date: "2027-01-31", Source: "AWS's price list, on demand, Linux, eu-west-1", Confirmed: true}
	if diff := cmp.Diff(want, price); !ok || diff != "" {
		t.Errorf("price %t (-want +got):\n%s", ok, diff)
	}
	if got := catalog.AsOf(); got != "2027-01-31" {
		t.Errorf("as of %s", got)
	}
	if got := catalog.Nearest("p9.48xlarg"); got != "p9.48xlarge" {
		t.Errorf("the nearest is %q", got)
	}
}

func TestOf_is_what_machines_are_told(t *testing.T) {
	if got := catalog.Of([]string{"c6i.large"}); got != nil {
		t.Errorf("without a newer list: %+v", got)
	}
	beside(t, newer)
	if got := catalog.Of([]string{"p5e.48xlarge"}); got != nil {
		t.Errorf("of a type that is not in it: %+v", got)
	}
	got := catalog.Of([]string{"p9.48xlarge", "c6i.large", "p9.48xlarge"})
	if got == nil || len(got.Types) != 2 || got.Types[0].Type != "c6i.large" || got.Types[0].USDPerHour != 0 || got.Types[1].Zones != nil {
		t.Errorf("got %+v", got)
	}
}

func TestRead_refuses_what_is_no_list(t *testing.T) {
	for _, text := range []string{
		"", "null", "{}", "[]", strings.TrimSuffix(newer, "]}"), `{"region": "r", "date": "d", "types": []}`,
		`{"region": "r", "date": "d", "types": [{"type": "a.b"}]}`,
		`{"region": "r", "date": "d", "types": [{"type": "a.b", "vcpus": 1, "memory_mib": 1, "arch": "amd64", "usd_per_hour": -1}]}`,
	} {
		if n, err := catalog.Read([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, n)
		}
	}
}

func TestComplete_adds_accelerators_that_EC2_does_not_name(t *testing.T) {
	o := catalog.Offer{Instance: catalog.Instance{Type: "trn2u.48xlarge"}}.Complete()
	if o.Accelerator != "trainium2" || o.AcceleratorCount != 16 {
		t.Errorf("%+v", o)
	}
}
