package slurm

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestAddressList(t *testing.T) {
	run := func(first string, n int) []netip.Addr {
		all := make([]netip.Addr, n)
		for i, a := 0, netip.MustParseAddr(first); i < n; i, a = i+1, a.Next() {
			all[i] = a
		}
		return all
	}
	for _, row := range []struct {
		name      string
		addresses []netip.Addr
		want      string
	}{
		{"none", nil, ""},
		{"one", run("10.99.0.2", 1), "10.99.0.2"},
		{"run", run("10.99.0.2", 80), "10.99.0.[2-81]"},
		{"over_an_edge", run("10.99.0.254", 4), "10.99.0.[254-255],10.99.1.[0-1]"},
		{"up_to_an_edge", run("10.99.0.254", 2), "10.99.0.[254-255]"},
		{"one_over_an_edge", run("10.99.0.255", 2), "10.99.0.255,10.99.1.0"},
		{"over_two_edges", run("10.99.0.255", 258), "10.99.0.255,10.99.1.[0-255],10.99.2.0"},
		{"gap", append(run("10.99.0.2", 2), run("10.99.0.9", 1)...), "10.99.0.[2-3],10.99.0.9"},
		{"backwards", []netip.Addr{netip.MustParseAddr("10.99.0.3"), netip.MustParseAddr("10.99.0.2")}, "10.99.0.3,10.99.0.2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := addressList(row.addresses)
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			// Slurm reads it as a host list, in this order.
			names, err := Expand(got)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, a := range row.addresses {
				want = append(want, a.String())
			}
			if !slices.Equal(names, want) {
				t.Errorf("it is read as %s", strings.Join(names, " "))
			}
		})
	}
}

func TestNoCgroups(t *testing.T) {
	for version, want := range map[string]string{
		"22.05.8": "cgroup/v1", "23.02.1": "cgroup/v1", "23.11.4": "disabled", "24.05": "disabled", "25.11.0": "disabled", "unknown": "cgroup/v1",
	} {
		if got := NoCgroups(version); got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
	}
}
