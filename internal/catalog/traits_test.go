package catalog_test

import (
	"bufio"
	"os"
	"slices"
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
		sameShape(t, c[0], c[5:])
	}
	if rows < 1300 {
		t.Errorf("%d rows are recorded, want more than 1300", rows)
	}
}

// sameShape compares what Lookup says with CPUs, threads, memory and
// architecture as EC2 says them. Families of before 2014 break every rule, and
// nobody can make them any more.
func sameShape(t *testing.T, name string, want []string) {
	t.Helper()
	family, _, _ := strings.Cut(name, ".")
	switch family {
	case "c1", "m1", "m2", "r3", "t1": // of before 2014
		return
	case "g4ad", "u-6tb1": // the list of accelerators has not all, and counts threads otherwise
		return
	}
	in, ok := catalog.Lookup(name)
	got := []string{strconv.Itoa(in.VCPUs), strconv.Itoa(in.ThreadsPerCore), strconv.Itoa(in.MemoryMiB), in.Arch}
	if !ok || !slices.Equal(got, want) {
		t.Errorf("%s: got %v, %v; want %v", name, got, ok, want)
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
	for _, name := range []string{"", ".", "p9.48xlarge", "m20i.large", "c6i.56xlarge", "nonsense"} {
		if got, ok := catalog.TraitsOf(name); ok {
			t.Errorf("TraitsOf(%q) = %+v, want nothing", name, got)
		}
	}
}
