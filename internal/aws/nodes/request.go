package nodes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/nodes/ec2xml"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Tags of instances.
const (
	tagCluster  = "muster:cluster"
	tagRole     = "muster:role"
	tagQueue    = "muster:queue"
	tagResource = "muster:resource"
	// tagLaunch is the client token of the call, tagNodes the host list that it was
	// made for: instance 0 is its first node. Lists that are too long for a tag go
	// on in muster:nodes.1 and so on.
	tagLaunch = "muster:launch"
	tagNodes  = "muster:nodes"
	// tagNode is the node of an instance that was given to another.
	tagNode = "muster:node"
	// tagFleet is EC2's own, of instances that CreateFleet launched.
	tagFleet = "aws:ec2:fleet-id"

	tagBytes  = 256
	tagsAtAll = 50
)

// nodeTags is how many tags a list of nodes may take, beside the others and those
// of the user.
const nodeTags = 20

// request is a call that starts instances, as it stands in the journal: repeated
// with the same token it has to be the same to the letter.
type request struct {
	Template string            `json:"template"`
	Tags     map[string]string `json:"tags"`
	Count    int32             `json:"count"`
	Whole    bool              `json:"whole,omitempty"`
	// Fleet is there where EC2 has to choose.
	Fleet *choice `json:"fleet,omitempty"`
}

// choice is what EC2 may choose from.
type choice struct {
	Types     []string `json:"types"`
	Subnets   []string `json:"subnets"`
	Capacity  string   `json:"capacity"`
	Strategy  string   `json:"strategy,omitempty"`
	SpotPrice string   `json:"spot_price,omitempty"`
}

// newRequest is the call for nodes of a resource.
func newRequest(cluster, token string, b batch) (request, error) {
	tags := map[string]string{
		tagCluster: cluster, tagRole: manifest.RoleCompute, tagQueue: b.resource.Queue, tagResource: b.resource.Name,
		tagLaunch: token, "Name": cluster + "-" + b.resource.Queue + "-" + b.resource.Name,
	}
	parts := cut(slurm.Compress(b.nodes), tagBytes)
	if len(parts) > nodeTags {
		return request{}, &provider.LaunchError{Cause: provider.Configuration, Message: fmt.Sprintf(
			"%d nodes cannot be launched in one call: their names (%s...) are too scattered to be noted in %d tags", len(b.nodes), b.nodes[0], nodeTags)}
	}
	for i, part := range parts {
		tags[nodesTag(i)] = part
	}
	addFileTags(tags, b.resource.Tags)
	r := request{Template: b.resource.Template, Tags: tags, Count: int32(len(b.nodes)), Whole: b.whole}
	if c := b.resource; !c.single() {
		r.Fleet = &choice{Types: c.Types, Subnets: c.Subnets, Capacity: c.Capacity, Strategy: c.Strategy, SpotPrice: c.SpotPrice}
	}
	return r, nil
}

// addFileTags adds the cluster file's tags to muster's own. The launch template has
// them, too, but EC2 does not say that it keeps those of a template where the call
// has tags for the same kind of resource. Muster's own stand first: they say which
// instance is which node.
func addFileTags(tags map[string]string, file []spec.Tag) {
	for _, t := range file {
		_, there := tags[t.Key]
		if strings.HasPrefix(t.Key, "muster:") || !there && len(tags) == tagsAtAll {
			continue
		}
		tags[t.Key] = t.Value
	}
}

func nodesTag(part int) string {
	if part == 0 {
		return tagNodes
	}
	return fmt.Sprintf("%s.%d", tagNodes, part)
}

// cut divides a text into parts of at most n bytes. Host lists are ASCII.
func cut(text string, n int) []string {
	var parts []string
	for len(text) > n {
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return append(parts, text)
}

// nodesOf reads the nodes of an instance's launch off its tags.
func nodesOf(i *ec2xml.Instance) ([]string, error) {
	var list strings.Builder
	for part := range tagsAtAll {
		text := i.Tag(nodesTag(part))
		if text == "" {
			break
		}
		list.WriteString(text)
	}
	return slurm.Expand(list.String())
}

// launched is what a call started, in the order of the nodes. A fleet's instances
// have only IDs.
type launched struct {
	instances []ec2xml.Instance
	// short says why there are fewer than asked for.
	short *provider.LaunchError
}

// send makes the call.
func (c *clients) send(ctx context.Context, token string, r request) (launched, error) {
	if r.Fleet != nil {
		return c.createFleet(ctx, token, r)
	}
	l := &lean{read: ec2xml.Launched, result: &ec2.RunInstancesOutput{}}
	least := int32(1)
	if r.Whole {
		least = r.Count
	}
	_, err := c.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
		ClientToken: aws.String(token), MinCount: aws.Int32(least), MaxCount: aws.Int32(r.Count),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String(r.Template), Version: aws.String("$Latest")},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: sdkTags(r.Tags)},
			{ResourceType: types.ResourceTypeVolume, Tags: sdkTags(r.volumeTags())},
		},
	}, l.option, c.paced(r.Count))
	if err != nil {
		return launched{}, err
	}
	slices.SortStableFunc(l.page.Instances, func(a, b ec2xml.Instance) int { return cmp.Compare(a.Index, b.Index) })
	return launched{instances: l.page.Instances}, nil
}

// volumeTags are those of the instances' volumes: the instances' own, without what tells
// nodes apart. The launch template has them, too, but EC2 does not say that it keeps those
// of a template where the call has tags. A fleet's call takes none for volumes:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html
func (r *request) volumeTags() map[string]string {
	tags := maps.Clone(r.Tags)
	maps.DeleteFunc(tags, func(key, _ string) bool { return key == tagLaunch || strings.HasPrefix(key, tagNodes) })
	return tags
}

func (c *clients) createFleet(ctx context.Context, token string, r request) (launched, error) {
	out, err := c.ec2.CreateFleet(ctx, r.fleet(token), c.paced(r.Count))
	if err != nil {
		return launched{}, err
	}
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	slices.Sort(ids) // see nodesOfFleet
	l := launched{short: worst(out.Errors)}
	for i, id := range ids {
		l.instances = append(l.instances, ec2xml.Instance{ID: id, State: "pending", Index: i})
	}
	return l, nil
}

// worst is the error of a fleet that says most. A limit stands before a lack of
// capacity: it is there in every zone.
func worst(all []types.CreateFleetError) *provider.LaunchError {
	order := []provider.Cause{provider.Limit, provider.Permission, provider.Configuration, provider.Throttled, provider.Capacity, provider.Unknown}
	var found *provider.LaunchError
	for _, e := range all {
		code := aws.ToString(e.ErrorCode)
		cause := causeOf(code, 0)
		if found == nil || slices.Index(order, cause) < slices.Index(order, found.Cause) {
			found = &provider.LaunchError{Cause: cause, Code: code, Message: aws.ToString(e.ErrorMessage)}
		}
	}
	return found
}

// fleet is the call as CreateFleet wants it, for instances at once and never again.
func (r *request) fleet(token string) *ec2.CreateFleetInput {
	f := r.Fleet
	single, oneZone := len(f.Types) == 1, len(f.Subnets) == 1
	if r.Whole && !single {
		oneZone = true // EC2 promises a minimum only of one type or in one zone
	}
	var least *int32
	if single || oneZone {
		least = aws.Int32(1)
		if r.Whole {
			least = aws.Int32(r.Count)
		}
	}
	in := &ec2.CreateFleetInput{
		ClientToken: aws.String(token), Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(r.Count), DefaultTargetCapacityType: f.capacity()},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String(r.Template), Version: aws.String("$Latest")},
			Overrides:                   f.overrides(),
		}},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: sdkTags(r.Tags)},
			{ResourceType: types.ResourceTypeFleet, Tags: sdkTags(map[string]string{tagCluster: r.Tags[tagCluster]})},
		},
	}
	if f.Capacity == "SPOT" {
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategy(f.Strategy), MinTargetCapacity: least,
			SingleInstanceType: aws.Bool(single), SingleAvailabilityZone: aws.Bool(oneZone)}
		return in
	}
	in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategy(f.Strategy), MinTargetCapacity: least,
		SingleInstanceType: aws.Bool(single), SingleAvailabilityZone: aws.Bool(oneZone),
		CapacityReservationOptions: &types.CapacityReservationOptionsRequest{UsageStrategy: types.FleetCapacityReservationUsageStrategyUseCapacityReservationsFirst}}
	if f.Capacity == "CAPACITY_BLOCK" {
		in.OnDemandOptions.AllocationStrategy = "" // there is one choice only
	}
	return in
}

func (f *choice) capacity() types.DefaultTargetCapacityType {
	switch f.Capacity {
	case "SPOT":
		return types.DefaultTargetCapacityTypeSpot
	case "CAPACITY_BLOCK":
		return types.DefaultTargetCapacityTypeCapacityBlock
	}
	return types.DefaultTargetCapacityTypeOnDemand
}

// overrides are the types in each subnet, those that the file names first before
// the others where the strategy asks for that.
func (f *choice) overrides() []types.FleetLaunchTemplateOverridesRequest {
	var all []types.FleetLaunchTemplateOverridesRequest
	for _, t := range f.Types {
		for _, s := range f.Subnets {
			o := types.FleetLaunchTemplateOverridesRequest{InstanceType: types.InstanceType(t), SubnetId: aws.String(s)}
			if f.Capacity == "SPOT" && f.SpotPrice != "" {
				o.MaxPrice = aws.String(f.SpotPrice)
			}
			if strings.HasSuffix(f.Strategy, "prioritized") {
				o.Priority = aws.Float64(float64(len(all)))
			}
			all = append(all, o)
		}
	}
	return all
}

func sdkTags(tags map[string]string) []types.Tag {
	var all []types.Tag
	for k, v := range tags {
		all = append(all, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	slices.SortStableFunc(all, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return all
}

func (r *request) encode() (json.RawMessage, error) { return json.Marshal(r) }
