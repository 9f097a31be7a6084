package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tags "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Left is something that has a cluster's tag and is there.
type Left struct {
	// Kind is in the user's words, such as "file system", ID AWS's name of it.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	What string `json:"what,omitempty"`
	// USDPerMonth is what it costs at least, as far as Known.
	USDPerMonth float64 `json:"usd_per_month"`
	// Known says that the price is known, Free that it costs nothing by itself.
	Known bool `json:"known"`
	Free  bool `json:"free,omitempty"`

	// doubtful says that only the list by tag has it, which lags.
	doubtful bool
}

// Left lists the resources with a cluster's tag, the dearest first. What AWS bills
// by the hour is asked for at each service: the service that lists by tag lags by
// minutes, both ways, and is asked for the rest.
func (a *Account) Left(ctx context.Context, cluster string) ([]Left, error) {
	var all []Left
	for _, look := range []func(context.Context, string) ([]Left, error){
		a.leftInstances, a.leftVolumes, a.leftAddresses, a.leftGateways, a.leftInterfaces, a.FileSystemsOf, a.leftByTag,
	} {
		some, err := look(ctx, cluster)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(x, y Left) int {
		return cmp.Or(-cmp.Compare(x.USDPerMonth, y.USDPerMonth), strings.Compare(x.Kind, y.Kind), strings.Compare(x.ID, y.ID))
	})
	return all, nil
}

func (a *Account) leftInstances(ctx context.Context, cluster string) ([]Left, error) {
	instances, err := a.Instances(ctx, cluster)
	var all []Left
	for _, i := range instances {
		if i.Gone() {
			continue
		}
		l := Left{Kind: "instance", ID: i.ID, What: i.Type + ", " + i.State}
		if i.State == "stopped" || i.State == "stopping" {
			l.Free, l.Known = true, true // its volumes are listed
		} else if price, ok := catalog.OnDemand(i.Type); ok {
			l.USDPerMonth, l.Known = price.USD*catalog.HoursPerMonth, true
		}
		all = append(all, l)
	}
	return all, err
}

// others are the kinds that leftByTag leaves to the services, by the service and
// the beginning of the resource in the ARN.
var others = []string{
	"ec2 instance/", "ec2 volume/", "ec2 elastic-ip/", "ec2 natgateway/", "ec2 network-interface/", "fsx file-system/", "fsx volume/",
	"fsx association/", "fsx task/", "elasticfilesystem file-system/",
}

// named are kinds in the user's words and what they cost a month; 0 is free by
// itself, and -1 that it depends on the contents.
// Prices: https://aws.amazon.com/cloudwatch/pricing/, /route53/pricing/, /elasticloadbalancing/pricing/, /secrets-manager/pricing/ (2026).
var named = []struct {
	prefix, kind string
	month        float64
}{
	{"elasticloadbalancing loadbalancer/", "load balancer", 0.0225 * catalog.HoursPerMonth},
	{"route53 hostedzone/", "DNS zone", 0.50},
	{"cloudwatch alarm:", "alarm", 0.10},
	{"cloudwatch dashboard/", "dashboard", 3},
	{"secretsmanager secret:", "secret", 0.40},
	{"logs log-group:", "log group", -1},
	{"s3 ", "bucket", -1},
	{"fsx backup/", "backup", -1},
	{"ec2 snapshot/", "snapshot", -1},
	{"kms key/", "key", 1},
	{"cloudformation stack/", "stack", 0},
}

// leftByTag lists what the other looks do not.
func (a *Account) leftByTag(ctx context.Context, cluster string) ([]Left, error) {
	var all []Left
	for page, err := range pagesOf(ctx, tagging.NewGetResourcesPaginator(tagging.NewFromConfig(a.config), &tagging.GetResourcesInput{
		TagFilters: []tags.TagFilter{{Key: aws.String(ClusterTag), Values: []string{cluster}}},
	})) {
		if err != nil {
			return nil, failed(err, "list what has the tag of cluster %s", cluster)
		}
		for _, r := range page.ResourceTagMappingList {
			if l, ok := tagged(aws.ToString(r.ResourceARN)); ok {
				if l, ok = a.measured(ctx, l); ok {
					all = append(all, l)
				}
			}
		}
	}
	return all, nil
}

// measured is what depends on how much is in it, with its price. It is false for
// resources that are gone already: the list by tag lags.
func (a *Account) measured(ctx context.Context, l Left) (Left, bool) {
	var bytes int64
	var known, there bool
	switch l.Kind {
	case "bucket":
		bytes, known, there = a.bucketBytes(ctx, l.ID)
		l.What, l.USDPerMonth = gib(bytes), float64(bytes)/(1<<30)*bucketMonth
	case "log group":
		bytes, known, there = a.logBytes(ctx, l.ID)
		l.What, l.USDPerMonth = gib(bytes), float64(bytes)/(1<<30)*logMonth
	default:
		return l, true
	}
	if !known {
		l.What, l.USDPerMonth = "", 0
	}
	l.Known, l.doubtful = known, false
	return l, there
}

// What a GB costs a month in us-east-1: https://aws.amazon.com/s3/pricing/ (Standard)
// and https://aws.amazon.com/cloudwatch/pricing/ (2026).
const (
	bucketMonth = 0.023
	logMonth    = 0.03
)

func gib(bytes int64) string { return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30)) }

func tagged(name string) (Left, bool) {
	parsed, err := arn.Parse(name)
	if err != nil {
		return Left{Kind: "resource", ID: name}, true
	}
	text := parsed.Service + " " + parsed.Resource
	if slices.ContainsFunc(others, func(prefix string) bool { return strings.HasPrefix(text, prefix) }) {
		return Left{}, false
	}
	for _, n := range named {
		if strings.HasPrefix(text, n.prefix) {
			id := strings.TrimSuffix(strings.TrimPrefix(text, n.prefix), ":*")
			return Left{Kind: n.kind, ID: id, USDPerMonth: max(n.month, 0), Known: n.month >= 0, Free: n.month == 0, doubtful: n.month != 0}, true
		}
	}
	return Left{Kind: parsed.Service, ID: parsed.Resource, Known: true, Free: true}, true
}

// hourly is a price a month.
func hourly(usd float64) float64 { return usd * catalog.HoursPerMonth }

// tagLag is how long the service that lists by tag may show deleted resources.
const tagLag = 2 * time.Minute

// LeftAfter is Left once the list by tag has caught up: what it alone shows, and what
// costs, is looked at again for a while.
func (a *Account) LeftAfter(ctx context.Context, cluster string, kept func(Left) bool) ([]Left, error) {
	deadline := time.Now().Add(tagLag)
	next := 200 * time.Millisecond
	for {
		all, err := a.Left(ctx, cluster)
		if err != nil || !slices.ContainsFunc(all, func(l Left) bool { return l.doubtful && !kept(l) }) || time.Now().After(deadline) {
			return all, err
		}
		if err := pause.For(ctx, next); err != nil {
			return all, err
		}
		next = min(2*next, 15*time.Second)
	}
}
