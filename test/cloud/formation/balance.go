package formation

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// balanced makes a resource of load balancing and gives the text of an element of the
// answer.
func (j *job) balanced(ctx context.Context, action, give string, params map[string]any) (string, *element, error) {
	if tags := tagsOf(j.labels()); tags != nil {
		params["Tags"] = tags
	}
	out, err := j.aws.plain.call(ctx, balancing, action, params)
	if err != nil {
		return "", nil, err
	}
	return out.find(give), out, nil
}

// plainly removes the resource of an ID.
func plainly(q query, action, name string) work {
	return func(ctx context.Context, j *job) error {
		_, err := j.aws.plain.call(ctx, q, action, map[string]any{name: j.id})
		return err
	}
}

// attributes sets those properties that are calls of their own.
func (j *job) attributes(ctx context.Context, name, action, arn string) error {
	if j.props[name] == nil || !j.changed(name) {
		return nil
	}
	_, err := j.aws.plain.call(ctx, balancing, action, map[string]any{arn: j.id, "Attributes": j.props[name]})
	return err
}

func createBalancer(ctx context.Context, j *job) (err error) {
	props := without(j.props, "Tags", "LoadBalancerAttributes")
	props["Name"] = cmp.Or(text(props["Name"]), j.generated(32))
	var out *element
	if j.id, out, err = j.balanced(ctx, "CreateLoadBalancer", "LoadBalancerArn", props); err != nil {
		return err
	}
	_, full, _ := strings.Cut(j.id, ":loadbalancer/")
	maps.Copy(j.att, map[string]any{"LoadBalancerArn": j.id, "DNSName": out.find("DNSName"), "CanonicalHostedZoneID": out.find("CanonicalHostedZoneId"),
		"LoadBalancerName": text(props["Name"]), "LoadBalancerFullName": full})
	return j.attributes(ctx, "LoadBalancerAttributes", "ModifyLoadBalancerAttributes", "LoadBalancerArn")
}

func updateBalancer(ctx context.Context, j *job) error {
	for name, action := range map[string]string{"Subnets": "SetSubnets", "SecurityGroups": "SetSecurityGroups"} {
		if j.changed(name) {
			if _, err := j.aws.plain.call(ctx, balancing, action, map[string]any{"LoadBalancerArn": j.id, name: j.props[name]}); err != nil {
				return err
			}
		}
	}
	if err := j.attributes(ctx, "LoadBalancerAttributes", "ModifyLoadBalancerAttributes", "LoadBalancerArn"); err != nil {
		return err
	}
	return j.retagBalanced(ctx)
}

func (j *job) retagBalanced(ctx context.Context) error {
	set, unset := j.relabelled()
	if len(unset) > 0 {
		if _, err := j.aws.plain.call(ctx, balancing, "RemoveTags", map[string]any{"ResourceArns": []any{j.id}, "TagKeys": list(unset)}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err := j.aws.plain.call(ctx, balancing, "AddTags", map[string]any{"ResourceArns": []any{j.id}, "Tags": tagsOf(set)})
	return err
}

func createTargets(ctx context.Context, j *job) (err error) {
	props := without(j.props, "Tags", "TargetGroupAttributes", "Targets")
	props["Name"] = cmp.Or(text(props["Name"]), j.generated(32))
	if j.id, _, err = j.balanced(ctx, "CreateTargetGroup", "TargetGroupArn", props); err != nil {
		return err
	}
	i := strings.LastIndex(j.id, ":")
	maps.Copy(j.att, map[string]any{"TargetGroupArn": j.id, "TargetGroupName": text(props["Name"]), "TargetGroupFullName": j.id[i+1:]})
	return j.attributes(ctx, "TargetGroupAttributes", "ModifyTargetGroupAttributes", "TargetGroupArn")
}

func updateTargets(ctx context.Context, j *job) error {
	params := map[string]any{"TargetGroupArn": j.id}
	for _, name := range slices.Sorted(maps.Keys(j.props)) {
		if strings.HasPrefix(name, "HealthCheck") || strings.HasSuffix(name, "ThresholdCount") {
			params[name] = j.props[name]
		}
	}
	if _, err := j.aws.plain.call(ctx, balancing, "ModifyTargetGroup", params); err != nil {
		return err
	}
	if err := j.attributes(ctx, "TargetGroupAttributes", "ModifyTargetGroupAttributes", "TargetGroupArn"); err != nil {
		return err
	}
	return j.retagBalanced(ctx)
}

func createListener(ctx context.Context, j *job) (err error) {
	out, err := j.aws.plain.call(ctx, balancing, "CreateListener", j.props)
	if err != nil {
		return err
	}
	j.id = out.find("ListenerArn")
	j.att["ListenerArn"] = j.id
	return nil
}

func updateListener(ctx context.Context, j *job) error {
	props := without(j.props, "LoadBalancerArn")
	props["ListenerArn"] = j.id
	_, err := j.aws.plain.call(ctx, balancing, "ModifyListener", props)
	return err
}

// group are the properties of a scaling group as the API takes them.
func (j *job) group() map[string]any {
	props := without(j.props, "Tags", "MetricsCollection")
	if v := props["VPCZoneIdentifier"]; v != nil {
		props["VPCZoneIdentifier"] = strings.Join(textsOf(v), ",")
	}
	props["AutoScalingGroupName"] = j.id
	return props
}

// groupTags are the tags of a scaling group: each says whether instances get it.
func (j *job) groupTags() []any {
	var out []any
	own := map[string]bool{}
	for _, t := range ruleList(j.props, "Tags") {
		own[text(t["Key"])] = true
		out = append(out, merged(t, map[string]any{"ResourceId": j.id, "ResourceType": "auto-scaling-group"}))
	}
	for _, k := range slices.Sorted(maps.Keys(j.tags)) {
		if !own[k] {
			out = append(out, map[string]any{"Key": k, "Value": j.tags[k], "PropagateAtLaunch": "true", "ResourceId": j.id, "ResourceType": "auto-scaling-group"})
		}
	}
	return out
}

func createScaling(ctx context.Context, j *job) error {
	j.id = cmp.Or(text(j.props["AutoScalingGroupName"]), j.generated(255))
	props := j.group()
	if tags := j.groupTags(); tags != nil {
		props["Tags"] = tags
	}
	if _, err := j.aws.plain.call(ctx, scaling, "CreateAutoScalingGroup", props); err != nil {
		j.id = ""
		return err
	}
	j.att["AutoScalingGroupARN"] = "arn:aws:autoscaling:" + j.aws.region + ":" + j.stack.account + ":autoScalingGroup:" + uuid() + ":autoScalingGroupName/" + j.id
	return nil
}

func updateScaling(ctx context.Context, j *job) error {
	if _, err := j.aws.plain.call(ctx, scaling, "UpdateAutoScalingGroup", without(j.group(), "TargetGroupARNs", "LoadBalancerNames")); err != nil {
		return err
	}
	if j.changed("TargetGroupARNs") {
		return reason("The double does not change the TargetGroupARNs of a scaling group")
	}
	if tags := j.groupTags(); tags != nil {
		_, err := j.aws.plain.call(ctx, scaling, "CreateOrUpdateTags", map[string]any{"Tags": tags})
		return err
	}
	return nil
}

func removeScaling(ctx context.Context, j *job) error {
	_, err := j.aws.plain.call(ctx, scaling, "DeleteAutoScalingGroup", map[string]any{"AutoScalingGroupName": j.id, "ForceDelete": "true"})
	return err
}
