package catalog_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/catalog"
)

// TestTraitsOf_is_what_EC2_says compares the short tables with the recorded list.
func TestTraitsOf_is_what_EC2_says(t *testing.T) {
	in, err := os.Open("testdata/ec2-traits.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rows := 0
	for scan := bufio.NewScanner(in); scan.Scan(); {
		if strings.HasPrefix(scan.Text(), "#") {
			continue
		}
		rows++
		c := strings.Split(scan.Text(), "\t")
		var want catalog.Traits
		want.EFA, _ = strconv.Atoi(c[1])
		want.Cards, _ = strconv.Atoi(c[2])
		want.ClusterGroup = c[3] == "cluster"
		want.Spot = strings.Contains(c[4], "spot")
		want.CapacityBlock = strings.Contains(c[4], "capacity-block")
		if got, ok := catalog.TraitsOf(c[0]); !ok || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", c[0], got, ok, want)
		}
	}
	if rows < 1300 {
		t.Errorf("%d rows are recorded, want more than 1300", rows)
	}
}

// TestTraitsOf_agrees_with_Lookup keeps the two sources from drifting apart.
func TestTraitsOf_agrees_with_Lookup(t *testing.T) {
	for _, name := range catalog.Names() {
		in, _ := catalog.Lookup(name)
		if got, ok := catalog.TraitsOf(name); ok && got.EFA != in.EFA {
			t.Errorf("%s: %d EFA interfaces, and %d in the list", name, got.EFA, in.EFA)
		}
	}
}

func TestTraitsOf_unknown(t *testing.T) {
	for _, name := range []string{"", ".", "p9.48xlarge", "m20i.large", "nonsense"} {
		if got, ok := catalog.TraitsOf(name); ok {
			t.Errorf("TraitsOf(%q) = %+v, want nothing", name, got)
		}
	}
}
