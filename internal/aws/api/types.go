package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/muster-hpc/muster/internal/catalog"
)

// Types asks for all instance types of the region: what they are, which zones offer
// them, and what they cost on demand. say is told what is being asked for.
func (a *Account) Types(ctx context.Context, now time.Time, say func(string)) (*catalog.Newer, error) {
	say("instance types")
	described, err := a.described(ctx)
	if err != nil {
		return nil, err
	}
	say("zones")
	zones, err := a.offered(ctx, nil)
	if err != nil {
		return nil, err
	}
	say("prices")
	prices, err := a.onDemand(ctx)
	if err != nil {
		return nil, err
	}
	n := &catalog.Newer{Region: a.Region, Date: now.UTC().Format(time.DateOnly)}
	for _, d := range described {
		o := offer(d)
		o.Zones, o.USDPerHour = zones[o.Type], prices[o.Type]
		slices.Sort(o.Zones)
		n.Types = append(n.Types, o)
	}
	slices.SortStableFunc(n.Types, func(a, b catalog.Offer) int { return cmp.Compare(a.Type, b.Type) })
	return n, nil
}

func (a *Account) described(ctx context.Context) ([]types.InstanceTypeInfo, error) {
	var all []types.InstanceTypeInfo
	for page, err := range pagesOf(ctx, ec2.NewDescribeInstanceTypesPaginator(a.ec2(), &ec2.DescribeInstanceTypesInput{})) {
		if err != nil {
			return nil, failed(err, "list the instance types of %s", a.Region)
		}
		all = append(all, page.InstanceTypes...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no instance type", a.Region)
	}
	return all, nil
}

// offer is what EC2 says of a type, in the catalogue's words.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html
func offer(d types.InstanceTypeInfo) catalog.Offer {
	o := catalog.Offer{Instance: catalog.Instance{Type: string(d.InstanceType), Arch: "amd64", ThreadsPerCore: 1}}
	if v := d.VCpuInfo; v != nil {
		o.VCPUs, o.ThreadsPerCore = int(aws.ToInt32(v.DefaultVCpus)), max(1, int(aws.ToInt32(v.DefaultThreadsPerCore)))
	}
	if m := d.MemoryInfo; m != nil {
		o.MemoryMiB = int(aws.ToInt64(m.SizeInMiB))
	}
	if p := d.ProcessorInfo; p != nil && slices.Contains(p.SupportedArchitectures, types.ArchitectureTypeArm64) {
		o.Arch = "arm64"
	}
	if s := d.InstanceStorageInfo; s != nil {
		o.NVMeGB = int(aws.ToInt64(s.TotalSizeInGB))
	}
	if p := d.PlacementGroupInfo; p != nil {
		o.ClusterGroup = slices.Contains(p.SupportedStrategies, types.PlacementGroupStrategyCluster)
	}
	o.Spot = slices.Contains(d.SupportedUsageClasses, types.UsageClassTypeSpot)
	o.CapacityBlock = slices.Contains(d.SupportedUsageClasses, types.UsageClassTypeCapacityBlock)
	network(&o, d.NetworkInfo)
	accelerators(&o, d)
	return o.Complete()
}

func network(o *catalog.Offer, n *types.NetworkInfo) {
	if n == nil {
		return
	}
	if n.EfaInfo != nil {
		o.EFA = int(aws.ToInt32(n.EfaInfo.MaximumEfaInterfaces))
	}
	o.Cards, o.CardIndexes = len(n.NetworkCards), cardIndexes(n.NetworkCards)
	gbps, steady := performance(aws.ToString(n.NetworkPerformance))
	if !steady {
		gbps = 0
		for _, c := range n.NetworkCards {
			gbps += aws.ToFloat64(c.BaselineBandwidthInGbps)
		}
	}
	o.NetworkMbps = int(math.Round(gbps * 1000))
}

// cardIndexes are the numbers of network cards, nil where they are counted from 0.
func cardIndexes(cards []types.NetworkCardInfo) []int {
	var all []int
	counted := true
	for i, c := range cards {
		all = append(all, int(aws.ToInt32(c.NetworkCardIndex)))
		counted = counted && all[i] == i
	}
	if counted {
		return nil
	}
	slices.Sort(all)
	return all
}

// performance reads a bandwidth such as "400 Gigabit" or "16x 200 Gigabit". It is not
// steady where an instance has it only for a time ("Up to 10 Gigabit") or where no
// number stands. What cards have each is no sum where they share a link, as those of
// g6e.48xlarge do, so that it is the last choice.
func performance(text string) (gbps float64, steady bool) {
	text, ok := strings.CutSuffix(text, " Gigabit")
	times := 1.0
	if count, each, many := strings.Cut(text, "x "); many {
		n, err := strconv.Atoi(count)
		times, text, ok = float64(n), each, ok && err == nil
	}
	gbps, err := strconv.ParseFloat(text, 64)
	return gbps * times, ok && err == nil
}

// accelerators are GPUs of NVIDIA, for those are GPUs to Slurm, or else devices of
// another kind.
func accelerators(o *catalog.Offer, d types.InstanceTypeInfo) {
	if g := d.GpuInfo; g != nil && len(g.Gpus) > 0 {
		first, count := g.Gpus[0], 0
		for _, one := range g.Gpus {
			count += int(aws.ToInt32(one.Count))
		}
		if aws.ToString(first.Manufacturer) != "NVIDIA" {
			o.Accelerator, o.AcceleratorCount = slurmName(first.Name), count
			return
		}
		o.GPU = catalog.GPU{Name: slurmName(first.Name), Count: count}
		if first.MemoryInfo != nil {
			o.GPU.MemoryMiB = int(aws.ToInt32(first.MemoryInfo.SizeInMiB))
		}
		return
	}
	if n := d.NeuronInfo; n != nil && len(n.NeuronDevices) > 0 {
		o.Accelerator, o.AcceleratorCount = slurmName(n.NeuronDevices[0].Name), int(aws.ToInt32(n.NeuronDevices[0].Count))
		return
	}
	if i := d.InferenceAcceleratorInfo; i != nil && len(i.Accelerators) > 0 {
		o.Accelerator, o.AcceleratorCount = slurmName(i.Accelerators[0].Name), int(aws.ToInt32(i.Accelerators[0].Count))
	}
}

// slurmName is a device's name as names of Slurm's generic resources are written.
func slurmName(name *string) string {
	return strings.ReplaceAll(strings.ToLower(aws.ToString(name)), " ", "-")
}

// onDemand are the prices of an hour for Linux on machines that are shared, in dollars.
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html
func (a *Account) onDemand(ctx context.Context) (map[string]float64, error) {
	config := a.config
	config.Region = priceRegion(a.Region)
	filters := make([]pricingtypes.Filter, 0, 6)
	for _, f := range [][2]string{
		{"regionCode", a.Region}, {"operatingSystem", "Linux"}, {"tenancy", "Shared"}, {"preInstalledSw", "NA"},
		{"capacitystatus", "Used"}, {"marketoption", "OnDemand"},
	} {
		filters = append(filters, pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: &f[0], Value: &f[1]})
	}
	prices := map[string]float64{}
	for page, err := range pagesOf(ctx, pricing.NewGetProductsPaginator(pricing.NewFromConfig(config), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters})) {
		if err != nil {
			return nil, failed(err, "ask AWS's price list for %s", a.Region)
		}
		for _, text := range page.PriceList {
			name, usd, err := priceOf(text)
			if err != nil {
				return nil, err
			}
			if usd > 0 {
				prices[name] = usd
			}
		}
	}
	return prices, nil
}

// priceOf is a product's instance type, and its price on demand by the hour; 0 if it
// has none in dollars.
func priceOf(text string) (instanceType string, usd float64, err error) {
	var p struct {
		Product struct{ Attributes struct{ InstanceType string } }
		Terms   struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					Unit         string
					PricePerUnit map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return "", 0, fmt.Errorf("AWS's price list cannot be read: %w", err)
	}
	for _, term := range p.Terms.OnDemand {
		for _, d := range term.PriceDimensions {
			if d.Unit != "Hrs" || d.PricePerUnit["USD"] == "" {
				continue
			}
			if usd, err = strconv.ParseFloat(d.PricePerUnit["USD"], 64); err != nil {
				return "", 0, fmt.Errorf("AWS's price list: the price of %s: %w", p.Product.Attributes.InstanceType, err)
			}
		}
	}
	return p.Product.Attributes.InstanceType, usd, nil
}
