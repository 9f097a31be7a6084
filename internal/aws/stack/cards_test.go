package stack

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/catalog"
)

// TestCards_are_numbered_as_EC2_does: by counting, unless the region's own list says
// otherwise.
func TestCards_are_numbered_as_EC2_does(t *testing.T) {
	for _, row := range []struct {
		name         string
		types        []string
		inner, outer []int // of p4d and p4de, which have four cards
		want         []int
	}{
		{"counted", []string{"p4d.24xlarge"}, nil, nil, []int{0, 1, 2, 3}},
		{"one_card", []string{"c6i.large"}, nil, nil, []int{0}},
		{"unknown", []string{"z9.large"}, nil, nil, []int{0}},
		{"gap", []string{"p4d.24xlarge"}, []int{0, 1, 3, 4}, nil, []int{0, 1, 3, 4}},
		{"gap_in_one", []string{"p4d.24xlarge", "p4de.24xlarge"}, []int{0, 1, 3, 4}, nil, []int{0, 1, 3}},
		{"gap_in_the_other", []string{"p4d.24xlarge", "p4de.24xlarge"}, nil, []int{0, 2, 4, 6}, []int{0, 2}},
		{"gaps_in_both", []string{"p4d.24xlarge", "p4de.24xlarge"}, []int{0, 1, 3, 4}, []int{0, 2, 4, 6}, []int{0, 4}},
		{"fewer_cards", []string{"p4d.24xlarge", "c5n.18xlarge"}, []int{0, 2, 4, 6}, nil, []int{0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := &catalog.Newer{Region: "us-east-2", Date: "2026-11-23", Types: []catalog.Offer{region("p4d.24xlarge", row.inner), region("p4de.24xlarge", row.outer)}}
			catalog.Beside(func() *catalog.Newer { return n })
			t.Cleanup(func() { catalog.Beside(func() *catalog.Newer { return nil }) })
			if got := cardsOf(row.types); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
			file := parse(fleet(1, 1, row.types[0]))
			r := file.Scheduling.Queues[0].ComputeResources[0]
			r.InstanceTypes = row.types
			var sits []int
			for _, c := range interfaces(file, r) {
				sits = append(sits, c.card)
			}
			if sits = slices.Compact(sits); !slices.Equal(sits, row.want) {
				t.Errorf("interfaces are on %v, want %v", sits, row.want)
			}
		})
	}
}

// region is a type as a region has it that numbers its cards so.
func region(name string, numbers []int) catalog.Offer {
	in, _ := catalog.Lookup(name)
	return catalog.Offer{Instance: in, Cards: 4, CardIndexes: numbers}
}
