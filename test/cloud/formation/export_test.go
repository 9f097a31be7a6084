package formation

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Balanced lists the names of load balancers, target groups and scaling groups.
func Balanced(ctx context.Context, cfg aws.Config) ([]string, error) {
	c := &plainClient{cfg: cfg}
	var out []string
	for _, ask := range []struct {
		q            query
		action, name string
	}{
		{balancing, "DescribeLoadBalancers", "LoadBalancerName"}, {balancing, "DescribeTargetGroups", "TargetGroupName"},
		{scaling, "DescribeAutoScalingGroups", "AutoScalingGroupName"},
	} {
		answer, err := c.call(ctx, ask.q, ask.action, map[string]any{})
		if err != nil {
			return nil, err
		}
		out = append(out, answer.all(ask.name)...)
	}
	return out, nil
}

func (e *element) all(name string) []string {
	var out []string
	for i := range e.Children {
		if e.Children[i].XMLName.Local == name {
			out = append(out, e.Children[i].Text)
		}
		out = append(out, e.Children[i].all(name)...)
	}
	return out
}
