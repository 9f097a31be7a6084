package api

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
)

// ZoneName is the name of a hosted zone, without the dot at its end.
func (a *Account) ZoneName(ctx context.Context, id string) (string, error) {
	out, err := route53.NewFromConfig(a.config).GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &id})
	if err != nil {
		return "", failed(err, "look at the hosted zone %s", id)
	}
	return strings.TrimSuffix(aws.ToString(out.HostedZone.Name), "."), nil
}

// HasLogGroup reports whether there is a log group of a name.
func (a *Account) HasLogGroup(ctx context.Context, name string) (bool, error) {
	group, err := a.logGroup(ctx, name)
	return group != nil, err
}

func (a *Account) logGroup(ctx context.Context, name string) (*types.LogGroup, error) {
	for page, err := range pagesOf(ctx, cloudwatchlogs.NewDescribeLogGroupsPaginator(cloudwatchlogs.NewFromConfig(a.config), &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})) {
		if err != nil {
			return nil, failed(err, "look for the log group %s", name)
		}
		for _, g := range page.LogGroups {
			if aws.ToString(g.LogGroupName) == name {
				return &g, nil
			}
		}
	}
	return nil, nil
}

// logBytes is how much a log group holds.
func (a *Account) logBytes(ctx context.Context, name string) (bytes int64, known, there bool) {
	group, err := a.logGroup(ctx, name)
	if err != nil || group == nil {
		return 0, false, err != nil
	}
	return aws.ToInt64(group.StoredBytes), true, true
}

// OwnLogGroup reports whether there is a log group of a name that has the cluster's tag.
func (a *Account) OwnLogGroup(ctx context.Context, name, cluster string) (bool, error) {
	group, err := a.logGroup(ctx, name)
	if err != nil || group == nil {
		return false, err
	}
	arn := strings.TrimSuffix(aws.ToString(group.Arn), ":*")
	out, err := cloudwatchlogs.NewFromConfig(a.config).ListTagsForResource(ctx, &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: &arn})
	if err != nil {
		return false, failed(err, "read the tags of the log group %s", name)
	}
	return out.Tags[ClusterTag] == cluster, nil
}

// DeleteLogGroup deletes a log group with all that it holds. One that is not there is
// gone.
func (a *Account) DeleteLogGroup(ctx context.Context, name string) error {
	_, err := cloudwatchlogs.NewFromConfig(a.config).DeleteLogGroup(ctx, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: &name})
	if err != nil && code(err) != "ResourceNotFoundException" {
		return failed(err, "delete the log group %s", name)
	}
	return nil
}
