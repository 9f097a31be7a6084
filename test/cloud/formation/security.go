package formation

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func createGroup(ctx context.Context, j *job) error {
	in := &ec2.CreateSecurityGroupInput{GroupName: aws.String(j.generated(255)), TagSpecifications: tagged(types.ResourceTypeSecurityGroup, j.labels())}
	if err := fill(in, without(j.props, "Tags", "SecurityGroupIngress", "SecurityGroupEgress"), map[string]string{"GroupDescription": "Description"}); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreateSecurityGroup(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.GroupId
	j.att["GroupId"], j.att["Id"], j.att["VpcId"] = j.id, j.id, text(j.props["VpcId"])
	return j.rules(ctx)
}

// everywhere is the rule for outgoing traffic that a new group has. CloudFormation
// takes it away where the template has rules of its own.
var everywhere = map[string]any{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}

// rules brings a group's rules to those of the properties, with one call for each.
func (j *job) rules(ctx context.Context) error {
	for _, name := range []string{"SecurityGroupIngress", "SecurityGroupEgress"} {
		before, after := ruleList(j.old, name), ruleList(j.props, name)
		if name == "SecurityGroupEgress" {
			if len(before) == 0 {
				before = []map[string]any{everywhere}
			}
			if len(after) == 0 {
				after = []map[string]any{everywhere}
			}
		}
		for _, r := range lost(before, after) {
			if err := j.revoke(ctx, name, r); err != nil && !missing(err) {
				return err
			}
		}
		for _, r := range lost(after, before) {
			if _, err := j.authorize(ctx, name, r); err != nil && code(err) != "InvalidPermission.Duplicate" {
				return err
			}
		}
	}
	return nil
}

func ruleList(props map[string]any, name string) []map[string]any {
	var out []map[string]any
	all, _ := props[name].([]any)
	for _, e := range all {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// lost are those of the first list that the second has not.
func lost(from, to []map[string]any) []map[string]any {
	have := map[string]bool{}
	for _, m := range to {
		have[canon(m)] = true
	}
	var out []map[string]any
	for _, m := range from {
		if !have[canon(m)] {
			out = append(out, m)
		}
	}
	return out
}

// permission is a rule as the API takes it.
func permission(r map[string]any) (types.IpPermission, error) {
	p := types.IpPermission{}
	optional := func(name string) *string {
		if r[name] == nil {
			return nil
		}
		return aws.String(text(r[name]))
	}
	about := optional("Description")
	if c := optional("CidrIp"); c != nil {
		p.IpRanges = []types.IpRange{{CidrIp: c, Description: about}}
	}
	if c := optional("CidrIpv6"); c != nil {
		p.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: c, Description: about}}
	}
	if c := cmp.Or(optional("SourcePrefixListId"), optional("DestinationPrefixListId")); c != nil {
		p.PrefixListIds = []types.PrefixListId{{PrefixListId: c, Description: about}}
	}
	if g := cmp.Or(optional("SourceSecurityGroupId"), optional("DestinationSecurityGroupId")); g != nil {
		p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: g, UserId: optional("SourceSecurityGroupOwnerId"), Description: about}}
	}
	return p, fill(&p, without(r, "GroupId", "Description", "CidrIp", "CidrIpv6", "SourcePrefixListId", "DestinationPrefixListId",
		"SourceSecurityGroupId", "DestinationSecurityGroupId", "SourceSecurityGroupOwnerId"), nil)
}

// authorize adds a rule and gives its ID.
func (j *job) authorize(ctx context.Context, name string, r map[string]any) (string, error) {
	p, err := permission(r)
	if err != nil {
		return "", err
	}
	j.aws.rules.Lock()
	defer j.aws.rules.Unlock()
	group := cmp.Or(text(r["GroupId"]), j.id)
	var rules []types.SecurityGroupRule
	if name == "SecurityGroupEgress" {
		out, err := j.aws.ec2.AuthorizeSecurityGroupEgress(ctx, &ec2.AuthorizeSecurityGroupEgressInput{GroupId: &group, IpPermissions: []types.IpPermission{p}})
		if err != nil {
			return "", err
		}
		rules = out.SecurityGroupRules
	} else {
		out, err := j.aws.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{p}})
		if err != nil {
			return "", err
		}
		rules = out.SecurityGroupRules
	}
	if len(rules) == 0 {
		return "", reason("the rule of %s has no ID", group)
	}
	return aws.ToString(rules[0].SecurityGroupRuleId), nil
}

func (j *job) revoke(ctx context.Context, name string, r map[string]any) error {
	p, err := permission(r)
	if err != nil {
		return err
	}
	j.aws.rules.Lock()
	defer j.aws.rules.Unlock()
	group := cmp.Or(text(r["GroupId"]), j.id)
	if name == "SecurityGroupEgress" {
		_, err = j.aws.ec2.RevokeSecurityGroupEgress(ctx, &ec2.RevokeSecurityGroupEgressInput{GroupId: &group, IpPermissions: []types.IpPermission{p}})
		return err
	}
	_, err = j.aws.ec2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{p}})
	return err
}

func updateGroup(ctx context.Context, j *job) error {
	return steps(func() error { return j.rules(ctx) }, func() error { return retag(ctx, j) })
}

func removeGroup(ctx context.Context, j *job) error {
	n, err := j.aws.interfaces(ctx, "group-id", j.id)
	if err != nil {
		return err
	}
	if n > 0 {
		return dependent("DeleteSecurityGroup", "resource %s has a dependent object", j.id)
	}
	_, err = j.aws.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &j.id})
	return err
}

// direction is the property of a group that a rule of its own would stand in.
func (j *job) direction() string { return strings.TrimPrefix(j.kind, "AWS::EC2::") }

func createRule(ctx context.Context, j *job) (err error) {
	j.id, err = j.authorize(ctx, j.direction(), j.props)
	j.att["Id"] = j.id
	return err
}

func removeRule(ctx context.Context, j *job) error { return j.revoke(ctx, j.direction(), j.props) }
