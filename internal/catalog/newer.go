package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Newer is what an account said of the instance types of its region. It stands before
// the built-in list; what it lacks, the built-in list has.
type Newer struct {
	Region string `json:"region"`
	// Date is when AWS was asked, as 2006-01-02.
	Date string `json:"date"`
	// Types are in alphabetical order.
	Types []Offer `json:"types"`
}

// Offer is an instance type as a region has it.
type Offer struct {
	Instance
	Cards int `json:"network_cards"`
	// CardIndexes are EC2's numbers of the cards where these are not 0, 1, 2 and so on.
	CardIndexes   []int `json:"network_card_indexes,omitempty"`
	ClusterGroup  bool  `json:"cluster_placement_group"`
	Spot          bool  `json:"spot"`
	CapacityBlock bool  `json:"capacity_block"`
	// USDPerHour is the price on demand for Linux, 0 if there is none.
	USDPerHour float64 `json:"usd_per_hour,omitempty"`
	// Zones are the availability zones that offer it.
	Zones []string `json:"zones,omitempty"`
}

// traits are what the region says of the type's network and its sale.
func (o Offer) traits() Traits {
	return Traits{EFA: o.EFA, Cards: max(1, o.Cards), ClusterGroup: o.ClusterGroup, Spot: o.Spot, CapacityBlock: o.CapacityBlock}
}

// Complete is the offer with the accelerators that the built-in list has of its type:
// EC2 does not name those of all types.
func (o Offer) Complete() Offer {
	if known, _ := builtIn(o.Type); o.GPU.Name == "" && o.Accelerator == "" {
		o.GPU, o.Accelerator, o.AcceleratorCount = known.GPU, known.Accelerator, known.AcceleratorCount
	}
	return o
}

// Read reads a list that json.Marshal wrote. It fails for what cannot be one.
func Read(data []byte) (*Newer, error) {
	var n Newer
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, err
	}
	if n.Region == "" || n.Date == "" || len(n.Types) == 0 {
		return nil, errors.New("it has no region, no date or no instance type")
	}
	for _, o := range n.Types {
		if o.Type == "" || o.VCPUs < 1 || o.MemoryMiB < 1 || o.Arch == "" || o.USDPerHour < 0 {
			return nil, fmt.Errorf("the instance type %q has no CPUs, no memory or no architecture, or a price below zero", o.Type)
		}
	}
	slices.SortStableFunc(n.Types, func(a, b Offer) int { return cmp.Compare(a.Type, b.Type) })
	return &n, nil
}

// find is the offer of a type. A nil list has none.
func (n *Newer) find(instanceType string) (Offer, bool) {
	if n == nil {
		return Offer{}, false
	}
	i, found := slices.BinarySearchFunc(n.Types, instanceType, func(o Offer, name string) int { return cmp.Compare(o.Type, name) })
	if !found {
		return Offer{}, false
	}
	return n.Types[i], true
}

// source gives the newer list.
var source atomic.Pointer[func() *Newer]

// Beside says where the newer list comes from, nil where there is none. It is asked
// once, at the next look for an instance type.
func Beside(load func() *Newer) {
	once := sync.OnceValue(load)
	source.Store(&once)
}

func beside() *Newer {
	if load := source.Load(); load != nil {
		return (*load)()
	}
	return nil
}

// Of is the part of the newer list that is about some types, as machines that have no
// such list are told it: without what changes from day to day. It is nil if that is
// nothing.
func Of(instanceTypes []string) *Newer {
	n := beside()
	if n == nil {
		return nil
	}
	part := &Newer{Region: n.Region, Date: n.Date}
	for _, name := range instanceTypes {
		if o, ok := n.find(name); ok {
			o.USDPerHour, o.Zones = 0, nil
			part.Types = append(part.Types, o)
		}
	}
	if len(part.Types) == 0 {
		return nil
	}
	slices.SortStableFunc(part.Types, func(a, b Offer) int { return cmp.Compare(a.Type, b.Type) })
	part.Types = slices.CompactFunc(part.Types, func(a, b Offer) bool { return a.Type == b.Type })
	return part
}

// AsOf is the date of the newest list in use.
func AsOf() string {
	if n := beside(); n != nil {
		return n.Date
	}
	return Date
}

// BuiltIn tells whether the built-in list has a type, or it follows from its name.
func BuiltIn(instanceType string) bool {
	_, known := builtIn(instanceType)
	return known
}

// OfferOf is what the newer list has of a type.
func OfferOf(instanceType string) (Offer, bool) { return beside().find(instanceType) }
