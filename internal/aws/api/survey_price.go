package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// quotaCodes are those of EC2's quotas of vCPUs:
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
var quotaCodes = map[string]string{
	"Standard on-demand instances":    "L-1216C47A",
	"P on-demand instances":           "L-417A185B",
	"G and VT on-demand instances":    "L-DB2E81BA",
	"F on-demand instances":           "L-74FC7D96",
	"DL on-demand instances":          "L-6E869C2A",
	"Inf on-demand instances":         "L-1945791B",
	"Trn on-demand instances":         "L-2C3B7624",
	"X on-demand instances":           "L-7295265B",
	"HPC on-demand instances":         "L-F7808C92",
	"High Memory on-demand instances": "L-43DA4232",
	"Standard spot instances":         "L-34B43A08",
	"P4, P3 and P2 spot instances":    "L-7212CCBC",
	"P5 spot instances":               "L-C4BD4855",
	"G and VT spot instances":         "L-3819A6DF",
	"F spot instances":                "L-88CF9481",
	"DL spot instances":               "L-85EED4F2",
	"Inf spot instances":              "L-B5D1601B",
	"Trn spot instances":              "L-6B0D517C",
	"X spot instances":                "L-E3A00192",
}

// networkQuotas are those of networks, by service and code. EC2 and VPC share them out:
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
var networkQuotas = map[string]struct{ service, code string }{
	"network interfaces":     {"vpc", "L-DF5E4CA3"},
	"NAT gateways of a zone": {"vpc", "L-FE5A380F"},
	"elastic addresses":      {"ec2", "L-0263D0A3"},
}

// quotas asks for the account's quotas. One that was never changed has AWS's own
// value, which is another call. A quota without a code is left out.
func (s *survey) quotas(ctx context.Context) {
	client := servicequotas.NewFromConfig(s.config)
	var group sync.WaitGroup
	for _, name := range s.wanted.Quotas {
		at := networkQuotas[name]
		if id, known := quotaCodes[name]; known {
			at.service, at.code = "ec2", id
		}
		if at.code == "" {
			continue
		}
		group.Go(func() {
			value, action, err := quota(ctx, client, at.service, at.code)
			if err != nil {
				s.unasked(ofQuotas, action, err)
				return
			}
			s.answer(func(i *inventory.Inventory) { i.Quotas = with(i.Quotas, name, int(value)) })
		})
	}
	group.Wait()
}

func quota(ctx context.Context, client *servicequotas.Client, service, id string) (value float64, action string, err error) {
	own, err := client.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: &service, QuotaCode: &id})
	if err == nil {
		return aws.ToFloat64(own.Quota.Value), "", nil
	}
	if code(err) != "NoSuchResourceException" {
		return 0, "servicequotas:GetServiceQuota", err
	}
	usual, err := client.GetAWSDefaultServiceQuota(ctx, &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: &service, QuotaCode: &id})
	if err != nil {
		return 0, "servicequotas:GetAWSDefaultServiceQuota", err
	}
	return aws.ToFloat64(usual.Quota.Value), "", nil
}

// priceRegion is where AWS's price list is answered for a region:
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html
func priceRegion(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "cn-northwest-1"
	case strings.HasPrefix(region, "eu-"):
		return "eu-central-1"
	case strings.HasPrefix(region, "ap-"):
		return "ap-south-1"
	}
	return "us-east-1"
}

// lustre asks AWS's price list which file systems for Lustre a region sells.
func (s *survey) lustre(ctx context.Context) {
	if len(s.wanted.Lustre) == 0 {
		return
	}
	list, err := s.lustrePrices(ctx)
	if err != nil {
		s.unasked(ofLustre, "pricing:GetProducts", err)
		return
	}
	sold, why := soldIn(list, s.wanted.Lustre)
	s.answer(func(i *inventory.Inventory) {
		i.Lustre = sold
		if why != "" {
			i.Unasked[ofLustre] = why
		}
	})
}

func (s *survey) lustrePrices(ctx context.Context) ([]string, error) {
	config := s.config
	config.Region = priceRegion(s.Region)
	equal := func(field, value string) pricingtypes.Filter {
		return pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: &field, Value: &value}
	}
	var list []string
	for page, err := range pagesOf(ctx, pricing.NewGetProductsPaginator(pricing.NewFromConfig(config), &pricing.GetProductsInput{
		ServiceCode: aws.String("AmazonFSx"), Filters: []pricingtypes.Filter{equal("fileSystemType", "Lustre"), equal("regionCode", s.Region)},
	})) {
		if err != nil {
			return nil, err
		}
		list = append(list, page.PriceList...)
	}
	return list, nil
}

// deployment is the name of a deployment type as it stands in a price list's words.
var deployment = pattern.New(`(?i)\b(scratch|persistent)[ _-]?([12])\b`)

// soldIn are the deployment types that products of a price list name in their
// attributes. Which attribute says it is written nowhere, so all are read. A list that
// names no type of a family, SCRATCH or PERSISTENT, does not decide about it.
func soldIn(list, wanted []string) (sold []string, why string) {
	for _, text := range list {
		var entry struct {
			Product struct{ Attributes map[string]string }
		}
		if err := json.Unmarshal([]byte(text), &entry); err != nil {
			return nil, fmt.Sprintf("pricing:GetProducts answered what cannot be read: %v", err)
		}
		for _, value := range entry.Product.Attributes {
			for _, m := range deployment().FindAllStringSubmatch(strings.ReplaceAll(value, ":", " "), -1) {
				sold = append(sold, strings.ToUpper(m[1])+"_"+m[2])
			}
		}
	}
	slices.Sort(sold)
	sold = slices.Compact(sold)
	for _, w := range wanted {
		family, _, _ := strings.Cut(w, "_")
		if !slices.ContainsFunc(sold, func(t string) bool { return strings.HasPrefix(t, family+"_") }) {
			return sold, "AWS's price list does not say it of " + w
		}
	}
	return sold, ""
}
