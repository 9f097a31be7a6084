package slurm

import (
	"testing"
)

func TestParseNodeName(t *testing.T) {
	cluster := map[Resource]bool{{"q", "r"}: true, {"a-st-b", "c"}: true, {"a", "b-dy-c-st-d"}: true, {"gpu", "p5e-2"}: true}
	known := func(n NodeName) bool { return cluster[n.Resource] }
	for _, want := range []NodeName{
		{Resource{"q", "r"}, true, 1},
		{Resource{"q", "r"}, false, 12},
		{Resource{"a-st-b", "c"}, true, 1},
		{Resource{"a-st-b", "c"}, false, 1},
		{Resource{"a", "b-dy-c-st-d"}, true, 3},
		{Resource{"a", "b-dy-c-st-d"}, false, 3},
		{Resource{"gpu", "p5e-2"}, false, 7},
	} {
		if got, ok := ParseNodeName(want.String(), known); !ok || got != want {
			t.Errorf("%s is %+v, %v, want %+v", want, got, ok, want)
		}
	}
	for _, name := range []string{"", "q", "1", "-1", "q-1", "q-st-r", "q-st-r-", "q-st-r-01", "q-xx-r-1", "q-st-s-1", "a-st-b-1", "q-st-1", "q-dy-r1", "q-dy-r-99999999999999999999"} {
		if got, ok := ParseNodeName(name, known); ok {
			t.Errorf("%q is no node of the cluster, got %+v", name, got)
		}
	}
}

func FuzzParseNodeName(f *testing.F) {
	f.Add("a-st-b-dy-c-1")
	f.Add("q-st-st-dy--2")
	f.Fuzz(func(t *testing.T, name string) {
		readings := 0
		ParseNodeName(name, func(n NodeName) bool {
			readings++
			if n.String() != name {
				t.Errorf("%+v is written %q, and was read from %q", n, n, name)
			}
			got, ok := ParseNodeName(name, func(other NodeName) bool { return other == n })
			if !ok || got != n {
				t.Errorf("%q is %+v, want %+v", name, got, n)
			}
			return false
		})
		if readings > 0 && !LooksManaged(name) {
			t.Errorf("%q can be taken apart, and looks like nothing", name)
		}
	})
}

func TestNodeResource(t *testing.T) {
	for _, row := range []struct {
		node       string
		partitions []string
		features   []string
		want       Resource
	}{
		{"q-dy-r-1", []string{"q"}, nil, Resource{"q", "r"}},
		{"q-st-gpu-nodes-12", []string{"all", "q"}, nil, Resource{"q", "gpu-nodes"}},
		{"q-dy-dy-r-1", []string{"q-dy"}, nil, Resource{"q-dy", "r"}},
		{"q-dy-dy-r-1", []string{"q"}, nil, Resource{"q", "dy-r"}},
		{"q-dy-r-1", nil, nil, Resource{"q", "r"}},
		{"a-b-st-r-1", nil, nil, Resource{"a-b", "r"}},
		{"login1", []string{"q"}, nil, Resource{Name: "login"}},
		{"a-st-b-dy-c-1", []string{"a-st-b"}, []string{"dynamic", "c"}, Resource{"a-st-b", "c"}},
		{"a-st-b-dy-c-1", []string{"a-st-b", "a"}, []string{"dynamic", "c"}, Resource{"a-st-b", "c"}},
		{"a-st-b-dy-c-1", []string{"a-st-b", "a"}, []string{"static", "b-dy-c"}, Resource{"a", "b-dy-c"}},
		{"a-dy-b-dy-c-1", []string{"a-dy-b", "a"}, []string{"dynamic", "b-dy-c"}, Resource{"a", "b-dy-c"}},
		{"a-st-b-st-c-1", []string{"a-st-b", "a"}, []string{"static", "c"}, Resource{"a-st-b", "c"}},
	} {
		n := Node{Name: row.node, Partitions: row.partitions, Features: row.features}
		if got := n.Resource(); got != row.want {
			t.Errorf("%s in %v is of %+v, want %+v", row.node, row.partitions, got, row.want)
		}
	}
}
