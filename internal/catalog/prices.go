package catalog

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed prices.tsv
var prices string

// Region is where the prices of this package hold.
const Region = "us-east-1"

// Price is what something costs, and who says so.
type Price struct {
	USD float64
	// Date is when the price was read, Source where.
	Date, Source string
	// Confirmed says that it comes from AWS's price list. Other prices are what
	// people say, and must be looked up before money is spent.
	Confirmed bool
}

const priceSource = "AWS's price list, on demand, Linux, "

// PriceRegion is where the prices of instances hold: a newer list's region, or Region.
func PriceRegion() string {
	if n := beside(); n != nil {
		return n.Region
	}
	return Region
}

// OnDemand is what an hour of an instance type costs in Region, or in the region of a
// newer list. It is false for types that are not sold on demand or not known.
func OnDemand(instanceType string) (Price, bool) {
	if n := beside(); n != nil {
		if o, ok := n.find(instanceType); ok && o.USDPerHour > 0 {
			return Price{USD: o.USDPerHour, Date: n.Date, Source: priceSource + n.Region, Confirmed: true}, true
		}
	}
	_, rest, ok := strings.Cut(prices, "\n"+instanceType+"\t")
	if !ok || instanceType == "" {
		return Price{}, false
	}
	amount, _, _ := strings.Cut(rest, "\n")
	usd, err := strconv.ParseFloat(amount, 64)
	return Price{USD: usd, Date: Date, Source: priceSource + Region, Confirmed: true}, err == nil && usd > 0
}

// BlockOnly reports whether an instance type is sold as Capacity Blocks and not
// on demand.
func BlockOnly(instanceType string) bool {
	traits, listed := TraitsOf(instanceType)
	_, sold := OnDemand(instanceType)
	return listed && traits.CapacityBlock && !sold
}
