package api

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/test/cloud"
)

const home = "us-east-1"

// TestTypes_are_what_the_catalogue_has compares what is made of EC2's own recorded
// answers, which moto carries, with the built-in list, which comes from elsewhere.
func TestTypes_are_what_the_catalogue_has(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: home})
	var said []string
	n, err := Of(c.Config()).Types(t.Context(), time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC), func(what string) { said = append(said, what) })
	if err != nil {
		t.Fatal(err)
	}
	if n.Region != home || n.Date != "2026-11-22" || len(said) != 3 || len(n.Types) < 800 {
		t.Errorf("%s of %s, %d types, said %v", n.Region, n.Date, len(n.Types), said)
	}
	compared, offered := 0, 0
	for _, name := range catalog.Names() {
		i := slices.IndexFunc(n.Types, func(o catalog.Offer) bool { return o.Type == name })
		if i < 0 {
			continue // not in this region
		}
		if len(n.Types[i].Zones) > 0 {
			offered++
		}
		compared++
		same(t, n.Types[i])
	}
	if compared < 50 || offered < 50 {
		t.Errorf("%d types are in both lists, %d of them in a zone; want 50 or more", compared, offered)
	}
	if text, err := json.Marshal(n); err != nil {
		t.Error(err)
	} else if back, err := catalog.Read(text); err != nil || !gocmp.Equal(back, n) {
		t.Errorf("read again: %v\n%s", err, gocmp.Diff(n, back))
	}
}

// same compares an offer with what the catalogue has of the type.
func same(t *testing.T, o catalog.Offer) {
	t.Helper()
	want, _ := catalog.Lookup(o.Type)
	traits, known := catalog.TraitsOf(o.Type)
	got := catalog.Traits{EFA: o.EFA, Cards: o.Cards, ClusterGroup: o.ClusterGroup, Spot: o.Spot, CapacityBlock: o.CapacityBlock}
	if known && got != traits {
		t.Errorf("%s: %+v, want %+v", o.Type, got, traits)
	}
	if price, sold := catalog.OnDemand(o.Type); sold && o.USDPerHour != price.USD {
		t.Errorf("%s costs %g, want %g", o.Type, o.USDPerHour, price.USD)
	}
	if diff := gocmp.Diff(want, o.Instance); diff != "" {
		t.Errorf("%s (-catalogue +EC2):\n%s", o.Type, diff)
	}
}

func TestPriceOf_what_is_no_price(t *testing.T) {
	for _, row := range []struct {
		text string
		usd  float64
		bad  bool
	}{
		{`{"product":{"attributes":{"instanceType":"x"}}}`, 0, false},
		{`{"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"Hrs","pricePerUnit":{"USD":"1.5"}}}}}}}`, 1.5, false},
		{`{"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"Quantity","pricePerUnit":{"USD":"900"}}}}}}}`, 0, false},
		{`{"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"Hrs","pricePerUnit":{"CNY":"9"}}}}}}}`, 0, false},
		{`{"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"unit":"Hrs","pricePerUnit":{"USD":"cheap"}}}}}}}`, 0, true},
		{`[`, 0, true},
	} {
		if _, usd, err := priceOf(row.text); usd != row.usd || (err != nil) != row.bad {
			t.Errorf("%s: %g, %v", row.text, usd, err)
		}
	}
}
