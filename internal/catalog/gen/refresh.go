package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
)

// take puts a newer list's facts and prices into the tables. Types that its region does
// not have keep their facts.
func (t *tables) take(n *catalog.Newer) error {
	if n.Region != catalog.Region {
		return fmt.Errorf("the list is of %s: the built-in prices are those of %s", n.Region, catalog.Region)
	}
	if priced := countPriced(n.Types); priced*2 < len(n.Types) {
		return fmt.Errorf("the list has a price of %d of its %d types: the built-in prices would be lost; `muster catalog update` asks for them with pricing:GetProducts", priced, len(n.Types))
	}
	from := fmt.Sprintf("DescribeInstanceTypes and AWS's price list of %s on %s", n.Region, n.Date)
	t.list.Source = "EC2's " + from + "; what that lacks: " + last(t.list.Source, "; what that lacks: ")
	t.head[0] = "# EC2 " + from + "; what that lacks: " + last(strings.TrimPrefix(t.head[0], "# "), "; what that lacks: ")
	prices := fmt.Sprintf("# Dollars an hour for Linux on demand in %s, as AWS listed them on %s.\n", n.Region, n.Date)
	for i := range t.list.Instances {
		t.list.Instances[i].Price = nil
	}
	for _, o := range n.Types {
		o = o.Complete()
		t.traits = put(t.traits, traitOf(o), func(have, row trait) bool { return have.name == row.name })
		if o.GPU.Name != "" || o.Accelerator != "" {
			t.list.Instances = put(t.list.Instances, t.list.record(o), func(have, row record) bool { return have.Type == row.Type })
		}
		if o.USDPerHour > 0 {
			prices += o.Type + "\t" + price(o.USDPerHour) + "\n"
		}
	}
	t.prices = prices
	return nil
}

// countPriced is how many types have a price. Nearly all that a region has are sold on demand.
func countPriced(types []catalog.Offer) (n int) {
	for _, o := range types {
		if o.USDPerHour > 0 {
			n++
		}
	}
	return n
}

// last is what follows the last of some words, the whole text without them.
func last(text, words string) string {
	parts := strings.Split(text, words)
	return parts[len(parts)-1]
}

func price(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

// put replaces a row, or adds it.
func put[T any](rows []T, row T, same func(have, row T) bool) []T {
	for i := range rows {
		if same(rows[i], row) {
			rows[i] = row
			return rows
		}
	}
	return append(rows, row)
}

func traitOf(o catalog.Offer) trait {
	usage := "on-demand"
	if o.CapacityBlock {
		usage = "capacity-block," + usage
	}
	if o.Spot {
		usage += ",spot"
	}
	return trait{
		name: o.Type, efa: o.EFA, cards: max(1, o.Cards), cluster: o.ClusterGroup, usage: usage,
		shape: []string{strconv.Itoa(o.VCPUs), strconv.Itoa(o.ThreadsPerCore), strconv.Itoa(o.MemoryMiB), o.Arch},
	}
}

// record is an offer's row; what EC2's answer lacks stays as it is recorded.
func (l list) record(o catalog.Offer) record {
	var r record
	if i := slices.IndexFunc(l.Instances, func(have record) bool { return have.Type == o.Type }); i >= 0 {
		r = l.Instances[i]
	}
	r.Type, r.VCPU, r.MemoryGiB, r.Arch = o.Type, o.VCPUs, o.MemoryMiB/1024, o.Arch
	r.GPU, r.GPUCount, r.GPUMemoryMiB = o.GPU.Name, o.GPU.Count, o.GPU.MemoryMiB
	r.Accelerator, r.AcceleratorCount = o.Accelerator, o.AcceleratorCount
	r.EFA, r.NetMbps = o.EFA, cmp.Or(o.NetworkMbps, r.NetMbps)
	if r.ThreadsPerCore = o.ThreadsPerCore; o.ThreadsPerCore == usualThreads(o.Arch) {
		r.ThreadsPerCore = 0
	}
	if o.NVMeGB > 0 {
		r.NVMeGB = &o.NVMeGB
	}
	if o.USDPerHour > 0 {
		r.Price = &o.USDPerHour
	}
	return r
}
