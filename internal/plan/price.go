package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// plus is the sum of two costs. What one of them misses, the sum misses.
func (c Cost) plus(d Cost) Cost {
	sum := Cost{USD: c.USD + d.USD, Missing: slices.Clone(c.Missing)}
	for _, m := range d.Missing {
		if !slices.Contains(sum.Missing, m) {
			sum.Missing = append(sum.Missing, m)
		}
	}
	return sum
}

func (c Cost) times(f float64) Cost { return Cost{USD: c.USD * f, Missing: c.Missing} }

// cents is an amount to a hundredth of a cent, without the noise of arithmetic.
func cents(usd float64) float64 { return math.Round(usd*1e4) / 1e4 }

func (c Cost) rounded() Cost { return Cost{USD: cents(c.USD), Missing: c.Missing} }

// spend is an hourly cost over time.
func spend(hour Cost, runHours float64) Spend {
	s := Spend{Hour: hour.rounded(), Day: hour.times(24).rounded()}
	if runHours > 0 {
		run := hour.times(runHours).rounded()
		s.Run = &run
	}
	return s
}

// InstanceTypes are all that a cluster file names, in its order.
func InstanceTypes(c *spec.Cluster) []string {
	f := fleetOf(c)
	var all []string
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, g := range f.Groups {
		for _, name := range g.InstanceTypes {
			add(name)
		}
	}
	for _, s := range f.Services {
		add(s.InstanceType)
	}
	return all
}

// pricing adds up what the cluster costs.
func pricing(e *Estimate, q Question) Pricing {
	p := Pricing{Region: catalog.Region, Volumes: volumes(q)}
	if asked := catalog.PriceRegion(); asked != p.Region {
		p.InstanceRegion = asked
	}
	var full, least, services Cost
	for _, g := range e.Fleet.Groups {
		node, missing := p.node(g, q.Prices)
		full = full.plus(priceOf(g.MaxCount, node, missing))
		least = least.plus(priceOf(g.MinCount, node, missing))
	}
	for _, s := range e.Fleet.Services {
		t := typePrice(s.InstanceType, "on demand", q.Prices)
		p.list(t)
		services = services.plus(priceOf(s.Count, t, s.InstanceType))
	}
	var disks, leastDisks, files Cost
	for _, v := range p.Volumes {
		disks = disks.plus(v.Month)
		if v.Least > 0 {
			leastDisks = leastDisks.plus(v.Month.times(float64(v.Least) / float64(v.Count)))
		}
	}
	for _, f := range e.FileSystems {
		files = files.plus(f.Month)
	}
	hourly := func(month Cost) Cost { return month.times(1.0 / catalog.HoursPerMonth) }
	storage, leastStorage := hourly(files.plus(disks)), hourly(files.plus(leastDisks))
	p.Nodes, p.LeastNodes, p.Services = spend(full, e.RunHours), spend(least, e.RunHours), spend(services, e.RunHours)
	p.Storage, p.LeastStorage = spend(storage, e.RunHours), spend(leastStorage, e.RunHours)
	p.All = spend(full.plus(services).plus(storage), e.RunHours)
	p.LeastAll = spend(least.plus(services).plus(leastStorage), e.RunHours)
	return p
}

// priceOf is what a number of machines cost for an hour.
func priceOf(count int, t TypePrice, name string) Cost {
	switch {
	case count == 0:
		return Cost{}
	case !t.Known:
		return Cost{Missing: []string{fmt.Sprintf("%d × %s", count, name)}}
	}
	return Cost{USD: float64(count) * t.USDPerHour}
}

// node is the price of a compute resource's nodes. It also says whose it is.
func (p *Pricing) node(g Group, prices map[string]float64) (TypePrice, string) {
	for _, name := range g.InstanceTypes {
		p.list(typePrice(name, purchase(g), prices))
	}
	most := dearest(g.InstanceTypes, purchase(g), prices)
	return most, most.InstanceType
}

// dearest is the highest price of some instance types, and not known if one of them
// is not.
func dearest(types []string, purchase string, prices map[string]float64) TypePrice {
	var most TypePrice
	for i, name := range types {
		t := typePrice(name, purchase, prices)
		if i == 0 || most.Known && (!t.Known || t.USDPerHour > most.USDPerHour) {
			most = t
		}
	}
	return most
}

func (p *Pricing) list(t TypePrice) {
	if !slices.ContainsFunc(p.Types, func(o TypePrice) bool { return o.InstanceType == t.InstanceType && o.Purchase == t.Purchase }) {
		p.Types = append(p.Types, t)
	}
}

// purchase is how a compute resource's nodes are bought.
func purchase(g Group) string {
	switch {
	case g.CapacityType == "SPOT":
		return "spot"
	case g.CapacityType == "CAPACITY_BLOCK":
		return "capacity block"
	case g.Reserved:
		return "reserved"
	}
	return "on demand"
}

// ownPrice is the source of a price that the user gave.
const ownPrice = "--price"

// bought are the ways in which an instance type is bought.
func (p Pricing) bought(name string) []string {
	var ways []string
	for _, t := range p.Types {
		if t.InstanceType == name {
			ways = append(ways, t.Purchase)
		}
	}
	return ways
}

// typePrice finds the price of an instance type: the user's, or the catalogue's
// if it is sold on demand and bought so.
func typePrice(name, purchase string, prices map[string]float64) TypePrice {
	t := TypePrice{InstanceType: name, Purchase: purchase}
	if usd, ok := prices[name]; ok {
		t.USDPerHour, t.Known, t.Source = usd, true, ownPrice
		return t
	}
	price, ok := catalog.OnDemand(name)
	switch {
	case purchase == "spot":
		t.Reason = "a spot price is the market's and changes"
	case purchase == "capacity block":
		t.Reason = "the price of a Capacity Block is AWS's offer of the day"
	case !ok && catalog.BlockOnly(name):
		t.Reason = "it has no price on demand: it is sold as Capacity Blocks"
	case !ok:
		t.Reason = "it is not in the catalogue's price list"
	default:
		t.USDPerHour, t.Known, t.Date, t.Source = price.USD, true, price.Date, price.Source
	}
	return t
}

// volumes are the root volumes of machines for which the file gives a size.
func volumes(q Question) []Volume {
	all := []Volume{}
	add := func(name string, count, least int, v spec.RootVolume) {
		if v.SizeGiB == 0 || count == 0 {
			return
		}
		d := disk{kind: v.VolumeType, gib: v.SizeGiB, iops: v.Iops, mbps: v.Throughput}
		one := Volume{Name: name, Count: count, Least: least, What: d.what(), Month: Cost{Missing: []string{"the " + name}}}
		if price, usd, ok := d.month(); ok {
			one.Month, one.Date, one.Source = Cost{USD: cents(float64(count) * usd)}, price.Date, price.Source
		}
		all = append(all, one)
	}
	add("root volume of the head node", 1, 1, q.Cluster.HeadNode.RootVolume)
	for _, queue := range q.Cluster.Scheduling.Queues {
		count, least := 0, 0
		for _, r := range queue.ComputeResources {
			count, least = count+r.MaxCount, least+r.MinCount
		}
		add("root volumes of "+queue.Name, count, least, queue.RootVolume)
	}
	return all
}

// blocks are the Capacity Blocks of queues that ask for them, or whose instance
// types have no price on demand.
func blocks(e *Estimate) []Block {
	all := []Block{}
	for _, g := range e.Fleet.Groups {
		name, asked := g.InstanceTypes[0], g.CapacityType == "CAPACITY_BLOCK"
		only := slices.IndexFunc(g.InstanceTypes, catalog.BlockOnly)
		switch {
		case asked:
		case only >= 0:
			name = g.InstanceTypes[only]
		default:
			continue
		}
		i := slices.IndexFunc(all, func(b Block) bool { return b.Queue == g.Queue && b.InstanceType == name && b.purchase == purchase(g) })
		if i < 0 {
			i, all = len(all), append(all, Block{Queue: g.Queue, InstanceType: name, Asked: asked, Source: catalog.BlockSource, purchase: purchase(g)})
		}
		all[i].Reserved = all[i].Reserved || g.Reserved
		all[i].Instances += g.MaxCount
	}
	for i := range all {
		b := &all[i]
		b.Sizes = catalog.Blocks(b.Instances)
		b.length(e.RunHours)
		if t := e.Price.of(b.InstanceType, b.purchase); t.Known && len(b.LengthsDays) > 0 {
			b.Upfront = &Cost{USD: cents(t.USDPerHour * float64(b.Instances) * b.paidHours())}
			b.Beyond = &Cost{USD: cents(t.USDPerHour * float64(b.Instances) * max(0, b.paidHours()-e.RunHours))}
		}
	}
	return all
}

// Days are those of all blocks that follow each other.
func (b Block) Days() int {
	sum := 0
	for _, n := range b.LengthsDays {
		sum += n
	}
	return sum
}

// paidHours are those of all blocks that follow each other.
func (b Block) paidHours() float64 { return float64(24 * b.Days()) }

// length finds what has to be bought for a run: the longest blocks, and what
// remains.
func (b *Block) length(runHours float64) {
	for days := runHours / 24; days > 0; days -= catalog.BlockDays {
		one := catalog.BlockLength(min(days, catalog.BlockDays))
		b.LengthsDays = append(b.LengthsDays, one)
		b.UsableHours += float64(24*one) - catalog.BlockTail.Hours()
	}
}

// of is the price of an instance type that is bought in some way.
func (p Pricing) of(name, purchase string) TypePrice {
	for _, t := range p.Types {
		if t.InstanceType == name && t.Purchase == purchase {
			return t
		}
	}
	return TypePrice{}
}
