package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/catalog"
)

func tablesHere(t *testing.T) tables {
	t.Helper()
	all, err := readTables("..")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestListsAreFresh holds that the Go files, and the tables' own form, are what gen makes of the tables.
func TestListsAreFresh(t *testing.T) {
	all := tablesHere(t)
	for _, made := range []func() (map[string][]byte, error){all.sources, all.files} {
		files, err := made()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			got, err := os.ReadFile(filepath.Join("..", name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s is stale, run go generate in internal/catalog (-want +got):\n%s", name, diff)
			}
		}
	}
}

// known are the offers of a region that has exactly what the tables have.
func known(all tables) []catalog.Offer {
	var offers []catalog.Offer
	for _, row := range all.traits {
		o := catalog.Offer{Cards: row.cards, ClusterGroup: row.cluster,
			Spot: strings.Contains(row.usage, "spot"), CapacityBlock: strings.Contains(row.usage, "capacity-block")}
		o.Instance, _ = catalog.Lookup(row.name)
		o.Type, o.EFA = row.name, row.efa
		price, _ := catalog.OnDemand(row.name)
		o.USDPerHour = price.USD
		offers = append(offers, o)
	}
	return offers
}

func TestTake(t *testing.T) {
	all, before := tablesHere(t), tablesHere(t)
	p9 := catalog.Instance{Type: "p9.48xlarge", VCPUs: 192, ThreadsPerCore: 2, MemoryMiB: 2 << 21, Arch: "amd64",
		GPU: catalog.GPU{Name: "h200", Count: 8, MemoryMiB: 144384}, EFA: 32, NetworkMbps: 3200000, NVMeGB: 30400}
	offers := append(known(all), catalog.Offer{Instance: p9, Cards: 32, ClusterGroup: true, Spot: true, USDPerHour: 99.5})
	if err := all.take(&catalog.Newer{Region: catalog.Region, Date: "2031-02-03", Types: offers}); err != nil {
		t.Fatal(err)
	}
	if err := all.take(&catalog.Newer{Region: catalog.Region, Date: "2031-02-04", Types: offers}); err != nil {
		t.Fatal(err)
	}
	files, err := all.files()
	if err != nil {
		t.Fatal(err)
	}
	want := "p9.48xlarge\t32\t32\tcluster\ton-demand,spot\t192\t2\t4194304\tamd64\n"
	if !strings.Contains(string(files[traitsFile]), want) || !strings.Contains(string(files[pricesFile]), "\np9.48xlarge\t99.5\n") {
		t.Errorf("the new type is not in the tables of traits and prices")
	}
	if n := len(all.list.Instances) - len(before.list.Instances); n != 1 {
		t.Errorf("%d types with accelerators more", n)
	}
	if want := "EC2's DescribeInstanceTypes and AWS's price list of us-east-1 on 2031-02-04; what that lacks: " + last(before.list.Source, "; what that lacks: "); all.list.Source != want {
		t.Errorf("the source is %q, want %q", all.list.Source, want)
	}
	if _, err := all.sources(); err != nil {
		t.Error(err)
	}
	same := slices.DeleteFunc(all.list.Instances, func(r record) bool { return r.Type == p9.Type })
	if diff := cmp.Diff(before.list.Instances, same); diff != "" {
		t.Errorf("other types are not what they were (-before +after):\n%s", diff)
	}
}

func TestTake_of_another_region(t *testing.T) {
	all := tablesHere(t)
	err := all.take(&catalog.Newer{Region: "eu-west-1", Date: "2031-02-03"})
	if err == nil || err.Error() != "the list is of eu-west-1: the built-in prices are those of us-east-1" {
		t.Errorf("got %v", err)
	}
}

// TestTake_without_prices holds that a list which was made without the right to ask for prices takes none away.
func TestTake_without_prices(t *testing.T) {
	all := tablesHere(t)
	offers := known(all)
	for i := range offers[:len(offers)*3/4] {
		offers[i].USDPerHour = 0
	}
	before := all.prices
	if err := all.take(&catalog.Newer{Region: catalog.Region, Date: "2031-02-03", Types: offers}); err == nil || all.prices != before {
		t.Errorf("it was taken: %v", err)
	}
}

func TestSource_wants_what_joins_GPUs(t *testing.T) {
	l := list{Instances: []record{{Type: "p9.48xlarge", GPU: "x900", GPUCount: 8}}}
	if _, err := l.source(); err == nil || !strings.Contains(err.Error(), "what joins GPUs called x900") {
		t.Errorf("got %v", err)
	}
}
