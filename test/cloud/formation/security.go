package formation

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// everywhere is the rule for outgoing traffic that a new group has. CloudFormation
// takes it away where the template has rules of its own.
var everywhere = map[string]any{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}

// rules brings a group's rules to those of the properties, with one call for each.
func setRules(ctx context.Context, j *job) error {
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
func permission(r props) props {
	out := without(r, "GroupId", "Description", "CidrIp", "CidrIpv6", "SourcePrefixListId", "DestinationPrefixListId",
		"SourceSecurityGroupId", "DestinationSecurityGroupId", "SourceSecurityGroupOwnerId")
	for _, peer := range [][3]string{{"CidrIp", "IpRanges", "CidrIp"}, {"CidrIpv6", "Ipv6Ranges", "CidrIpv6"},
		{"SourcePrefixListId", "PrefixListIds", "PrefixListId"}, {"DestinationPrefixListId", "PrefixListIds", "PrefixListId"},
		{"SourceSecurityGroupId", "UserIdGroupPairs", "GroupId"}, {"DestinationSecurityGroupId", "UserIdGroupPairs", "GroupId"}} {
		if r[peer[0]] == nil {
			continue
		}
		one := props{peer[2]: text(r[peer[0]])}
		if r["Description"] != nil {
			one["Description"] = text(r["Description"])
		}
		if owner := r["SourceSecurityGroupOwnerId"]; owner != nil && peer[2] == "GroupId" {
			one["UserId"] = text(owner)
		}
		out[peer[1]] = []any{one}
	}
	return out
}

// rule is the request about one rule of a group.
func (j *job) rule(r props) props {
	return props{"GroupId": cmp.Or(text(r["GroupId"]), j.id), "IpPermissions": []any{permission(r)}}
}

// authorize adds a rule and gives its ID.
func (j *job) authorize(ctx context.Context, name string, r props) (string, error) {
	j.aws.rules.Lock()
	defer j.aws.rules.Unlock()
	var rules []types.SecurityGroupRule
	var err error
	if name == "SecurityGroupEgress" {
		var out *ec2.AuthorizeSecurityGroupEgressOutput
		if out, err = ask(ctx, j.aws.ec2.AuthorizeSecurityGroupEgress, j.rule(r), nil); err == nil {
			rules = out.SecurityGroupRules
		}
	} else {
		var out *ec2.AuthorizeSecurityGroupIngressOutput
		if out, err = ask(ctx, j.aws.ec2.AuthorizeSecurityGroupIngress, j.rule(r), nil); err == nil {
			rules = out.SecurityGroupRules
		}
	}
	if err == nil && len(rules) == 0 {
		err = reason("the rule of a group has no ID")
	}
	if err != nil {
		return "", err
	}
	return aws.ToString(rules[0].SecurityGroupRuleId), nil
}

func (j *job) revoke(ctx context.Context, name string, r props) error {
	j.aws.rules.Lock()
	defer j.aws.rules.Unlock()
	if name == "SecurityGroupEgress" {
		return tell(ctx, j.aws.ec2.RevokeSecurityGroupEgress, j.rule(r))
	}
	return tell(ctx, j.aws.ec2.RevokeSecurityGroupIngress, j.rule(r))
}

// groupInVPC adds the attributes of a group that its creation does not answer with.
func groupInVPC(_ context.Context, j *job) error {
	j.att["VpcId"] = text(j.props["VpcId"])
	return nil
}

// direction is the property of a group that a rule of its own would stand in.
func (j *job) direction() string { return strings.TrimPrefix(j.kind, "AWS::EC2::") }

func createRule(ctx context.Context, j *job) (err error) {
	j.id, err = j.authorize(ctx, j.direction(), j.props)
	j.att["Id"] = j.id
	return err
}

func removeRule(ctx context.Context, j *job) error { return j.revoke(ctx, j.direction(), j.props) }
