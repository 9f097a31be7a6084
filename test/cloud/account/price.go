package account

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

type productsRequest struct {
	ServiceCode string
	NextToken   string
	Filters     []struct{ Type, Field, Value string }
}

// products is GetProducts of AWS's price list, for machines on demand: the prices of
// muster's own catalog, the same in every region; of all listed types if none is named. Its form:
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html
func (s *Service) products(c *wire.Call) (*wire.Answer, *wire.Error) {
	var r productsRequest
	if err := c.Decode(&r); err != nil {
		return nil, wire.Errorf("InvalidParameterException", "%v", err)
	}
	if r.ServiceCode == "AmazonFSx" {
		return s.lustreProducts(r), nil
	}
	if r.ServiceCode != "AmazonEC2" {
		return wire.Missing("the double has no prices of %s", r.ServiceCode), nil
	}
	filters := map[string]string{}
	for _, f := range r.Filters {
		if f.Type != "TERM_MATCH" && f.Type != "EQUALS" {
			return wire.Missing("the double knows no filter of the type %s", f.Type), nil
		}
		filters[f.Field] = f.Value
	}
	names := []string{filters["instanceType"]}
	if names[0] == "" {
		names = catalog.Names()
	}
	list := []string{}
	for _, name := range names {
		price, ok := catalog.OnDemand(name)
		if attributes := attributesOf(name, filters); ok && fit(filters, attributes) {
			list = append(list, product(attributes, price.USD))
		}
	}
	return page(r, list)
}

// page is a part of a list: a hundred products at the most, and where the next ones
// begin.
func page(r productsRequest, list []string) (*wire.Answer, *wire.Error) {
	begin := 0
	if r.NextToken != "" {
		var err error
		if begin, err = strconv.Atoi(r.NextToken); err != nil || begin > len(list) {
			return nil, wire.Errorf("InvalidNextTokenException", "the token %q is none of ours", r.NextToken)
		}
	}
	end := min(begin+100, len(list))
	answer := map[string]any{"FormatVersion": "aws_v1", "PriceList": list[begin:end]}
	if end < len(list) {
		answer["NextToken"] = strconv.Itoa(end)
	}
	return wire.JSON(answer), nil
}

func attributesOf(name string, filters map[string]string) map[string]string {
	in, _ := catalog.Lookup(name) // an unknown type has no CPUs
	return map[string]string{
		"servicecode": "AmazonEC2", "instanceType": name, "regionCode": filters["regionCode"], "location": filters["location"],
		"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used", "licenseModel": "No License required",
		"marketoption": "OnDemand", "operation": "RunInstances", "vcpu": strconv.Itoa(in.VCPUs), "productFamily": "Compute Instance",
	}
}

func fit(filters, attributes map[string]string) bool {
	for field, value := range filters {
		if attributes[field] != value {
			return false
		}
	}
	return true
}

func product(attributes map[string]string, usd float64) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(attributes["instanceType"])) // never fails
	sku := fmt.Sprintf("%016X", h.Sum64())
	term, rate := sku+".JRTCKXETXF", sku+".JRTCKXETXF.6YS6EN2CT7" // on demand, by the hour: the same for all
	text, err := json.Marshal(map[string]any{
		"serviceCode": "AmazonEC2", "version": "double", "publicationDate": "2026-07-20T00:00:00Z",
		"product": map[string]any{"productFamily": "Compute Instance", "sku": sku, "attributes": attributes},
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"sku": sku, "offerTermCode": "JRTCKXETXF", "priceDimensions": map[string]any{rate: map[string]any{
				"rateCode": rate, "unit": "Hrs", "beginRange": "0", "endRange": "Inf", "pricePerUnit": map[string]string{"USD": strconv.FormatFloat(usd, 'f', 10, 64)},
			}},
		}}},
	})
	if err != nil {
		panic(err) // a value of our own types
	}
	return string(text)
}

// SetLustre says which deployment types of file systems for Lustre the price list
// names.
func (s *Service) SetLustre(types ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lustre = types
}

// lustreProducts are products with the deployment type in their usage type. Where AWS
// has it is documented nowhere.
func (s *Service) lustreProducts(r productsRequest) *wire.Answer {
	region, list := "", []string{}
	for _, f := range r.Filters {
		if f.Field == "regionCode" {
			region = f.Value
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range s.lustre {
		text, err := json.Marshal(map[string]any{"serviceCode": "AmazonFSx", "product": map[string]any{"productFamily": "Storage", "attributes": map[string]string{
			"fileSystemType": "Lustre", "regionCode": region, "usagetype": "Lustre-" + kind + "-Storage", "storageType": "SSD",
		}}})
		if err != nil {
			panic(err) // a value of our own types
		}
		list = append(list, string(text))
	}
	return wire.JSON(map[string]any{"FormatVersion": "aws_v1", "PriceList": list})
}
