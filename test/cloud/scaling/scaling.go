// Package scaling is EC2 Auto Scaling in the double of AWS: groups that launch as
// many instances of their launch template as they should have, by EC2's own calls.
// A group looks at its instances whenever it is asked for; nothing runs between
// calls. Targets of load balancers are not registered, and no hook is waited for.
package scaling

import (
	"context"
	"encoding/xml"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Service is Auto Scaling.
type Service struct {
	ec2 *ec2.Client

	mu     sync.Mutex // guards what follows; calls of EC2 are made while it is held
	groups []*group
}

var _ wire.Service = (*Service)(nil)

// New returns an Auto Scaling that launches instances by the given configuration's
// endpoint.
func New(cfg aws.Config) *Service { return &Service{ec2: ec2.NewFromConfig(cfg)} }

// group is a group of instances.
type group struct {
	name, arn          string
	least, most, wants int
	template           types.LaunchTemplateSpecification
	subnets            []string
	targets            []string
	tags               []tag
	members            []member
	launched           int
}

type tag struct {
	Key               string
	Value             string
	PropagateAtLaunch bool
	ResourceId        string
	ResourceType      string
}

type member struct{ id, zone string }

// Answer answers a call to Auto Scaling. Errors:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/CommonErrors.html
func (s *Service) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	act, ok := map[string]func(context.Context, *wire.Call) (any, error){
		"CreateAutoScalingGroup": s.create, "UpdateAutoScalingGroup": s.update, "DeleteAutoScalingGroup": s.remove,
		"DescribeAutoScalingGroups": s.describe, "DescribeAutoScalingInstances": s.describeMembers,
		"SetDesiredCapacity": s.setDesired, "CreateOrUpdateTags": s.tag, "TerminateInstanceInAutoScalingGroup": s.terminate,
	}[c.Action]
	if !ok {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result, err := act(ctx, c)
	if err != nil {
		e, known := errors.AsType[*wire.Error](err)
		if api, ok := errors.AsType[smithy.APIError](err); !known && ok {
			e = wire.Errorf(api.ErrorCode(), "%s", api.ErrorMessage())
		} else if !known {
			e = &wire.Error{Status: 500, Code: "InternalFailure", Message: err.Error()}
		}
		return c.Fault(e), true
	}
	return wire.XML(answer{XMLName: xml.Name{Local: c.Action + "Response"}, Result: result}), true
}

// answer is an answer whose result names its own element.
type answer struct {
	XMLName xml.Name
	Result  any `xml:",omitempty"`
}

func invalid(format string, args ...any) error {
	return wire.Errorf("ValidationError", format, args...)
}

// list are the values of NAME.member.1 and so on.
func list(c *wire.Call, name string) []string {
	var out []string
	for i := 1; c.Form.Has(name + ".member." + strconv.Itoa(i)); i++ {
		out = append(out, c.Form.Get(name+".member."+strconv.Itoa(i)))
	}
	return out
}

func tags(c *wire.Call) []tag {
	var out []tag
	for i := 1; c.Form.Has("Tags.member." + strconv.Itoa(i) + ".Key"); i++ {
		at := "Tags.member." + strconv.Itoa(i) + "."
		out = append(out, tag{c.Form.Get(at + "Key"), c.Form.Get(at + "Value"), c.Form.Get(at+"PropagateAtLaunch") == "true", c.Form.Get(at + "ResourceId"), "auto-scaling-group"})
	}
	return out
}

func (s *Service) find(name string) *group {
	i := slices.IndexFunc(s.groups, func(g *group) bool { return g.name == name })
	if i < 0 {
		return nil
	}
	return s.groups[i]
}

func (s *Service) named(c *wire.Call) (*group, error) {
	name := c.Form.Get("AutoScalingGroupName")
	if g := s.find(name); g != nil {
		return g, nil
	}
	return nil, invalid("AutoScalingGroup name not found - AutoScalingGroup %s not found", name)
}

// take reads those parameters of a group that a call has.
func (g *group) take(c *wire.Call) error {
	for name, to := range map[string]*int{"MinSize": &g.least, "MaxSize": &g.most, "DesiredCapacity": &g.wants} {
		if !c.Form.Has(name) {
			continue
		}
		n, err := strconv.Atoi(c.Form.Get(name))
		if err != nil {
			return invalid("%s must be a number, got %q", name, c.Form.Get(name))
		}
		*to = n
	}
	if !c.Form.Has("DesiredCapacity") {
		g.wants = min(max(g.wants, g.least), g.most)
	}
	if g.wants < g.least || g.wants > g.most {
		return invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d", g.wants, g.least, g.most)
	}
	set := func(name string, to **string) {
		if v := c.Form.Get("LaunchTemplate." + name); v != "" {
			*to = &v
		}
	}
	set("LaunchTemplateId", &g.template.LaunchTemplateId)
	set("LaunchTemplateName", &g.template.LaunchTemplateName)
	set("Version", &g.template.Version)
	if v := c.Form.Get("VPCZoneIdentifier"); v != "" {
		g.subnets = strings.Split(v, ",")
	}
	return nil
}

func (s *Service) create(ctx context.Context, c *wire.Call) (any, error) {
	g := &group{name: c.Form.Get("AutoScalingGroupName"), targets: list(c, "TargetGroupARNs"), tags: tags(c)}
	if s.find(g.name) != nil {
		return nil, wire.Errorf("AlreadyExists", "AutoScalingGroup by this name already exists - A group with the name %s already exists", g.name)
	}
	if err := g.take(c); err != nil {
		return nil, err
	}
	if g.template.LaunchTemplateId == nil && g.template.LaunchTemplateName == nil {
		return nil, invalid("Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.")
	}
	g.arn = "arn:aws:autoscaling:" + c.Region + ":123456789012:autoScalingGroup:00000000-0000-4000-8000-000000000000:autoScalingGroupName/" + g.name
	s.groups = append(s.groups, g)
	return nil, s.reconcile(ctx, g)
}

func (s *Service) update(ctx context.Context, c *wire.Call) (any, error) {
	g, err := s.named(c)
	if err == nil {
		err = g.take(c)
	}
	if err != nil {
		return nil, err
	}
	return nil, s.reconcile(ctx, g)
}

func (s *Service) setDesired(ctx context.Context, c *wire.Call) (any, error) { return s.update(ctx, c) }

func (s *Service) remove(ctx context.Context, c *wire.Call) (any, error) {
	g, err := s.named(c)
	if err != nil {
		return nil, err
	}
	if len(g.members) > 0 && c.Form.Get("ForceDelete") != "true" {
		return nil, wire.Errorf("ResourceInUse", "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.")
	}
	g.least, g.wants = 0, 0
	if err := s.reconcile(ctx, g); err != nil {
		return nil, err
	}
	s.groups = slices.DeleteFunc(s.groups, func(o *group) bool { return o == g })
	return nil, nil
}

func (s *Service) tag(_ context.Context, c *wire.Call) (any, error) {
	for _, t := range tags(c) {
		g := s.find(t.ResourceId)
		if g == nil {
			return nil, invalid("AutoScalingGroup name not found - AutoScalingGroup %s not found", t.ResourceId)
		}
		g.tags = append(slices.DeleteFunc(g.tags, func(o tag) bool { return o.Key == t.Key }), t)
	}
	return nil, nil
}
