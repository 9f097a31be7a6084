package formation

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

func createLogGroup(ctx context.Context, j *job) error {
	name := cmp.Or(text(j.props["LogGroupName"]), j.generated(512))
	in := &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name}
	if tags := j.labels(); len(tags) > 0 {
		in.Tags = tags
	}
	if err := fill(in, without(j.props, "Tags", "RetentionInDays"), nil); err != nil {
		return err
	}
	if _, err := j.aws.logs.CreateLogGroup(ctx, in); err != nil {
		return err
	}
	j.id = name
	j.att["Arn"] = j.arn("logs", "log-group:"+name+":*")
	return setRetention(ctx, j)
}

// arn is that of a resource of this stack's region and account.
func (j *job) arn(service, id string) string {
	return strings.Join([]string{"arn:aws", service, j.aws.region, j.stack.account, id}, ":")
}

func setRetention(ctx context.Context, j *job) error {
	if !j.changed("RetentionInDays") {
		return nil
	}
	if j.props["RetentionInDays"] == nil {
		return tell(ctx, j.aws.logs.DeleteRetentionPolicy, props{"LogGroupName": j.id})
	}
	return tell(ctx, j.aws.logs.PutRetentionPolicy, props{"LogGroupName": j.id, "RetentionInDays": j.props["RetentionInDays"]})
}

func retagLogGroup(ctx context.Context, j *job) error {
	arn := strings.TrimSuffix(text(j.att["Arn"]), ":*")
	set, unset := j.relabelled()
	if len(unset) > 0 {
		if err := tell(ctx, j.aws.logs.UntagResource, props{"ResourceArn": arn, "TagKeys": list(unset)}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	return tell(ctx, j.aws.logs.TagResource, props{"ResourceArn": arn, "Tags": tagValue(set)})
}

func putDashboard(ctx context.Context, j *job) error {
	j.id = cmp.Or(j.id, text(j.props["DashboardName"]), j.generated(255))
	return tell(ctx, j.aws.watch.PutDashboard, props{"DashboardName": j.id, "DashboardBody": document(j.props["DashboardBody"])})
}

// putsAlarm makes an alarm, or puts it again, which leaves its tags as they are.
func putsAlarm[I, R any](put func(*cloudwatch.Client, context.Context, *I, ...func(*cloudwatch.Options)) (*R, error)) work {
	return func(ctx context.Context, j *job) error {
		with, fresh := without(j.props, "Tags"), j.id == ""
		if fresh {
			j.id = cmp.Or(text(j.props["AlarmName"]), j.generated(255))
			j.att["Arn"] = j.arn("cloudwatch", "alarm:"+j.id)
			with = merged(with, tagging("Tags", j.labels()))
		}
		with["AlarmName"] = j.id
		if err := tell(ctx, bound(j.aws.watch, put), with); err != nil || fresh {
			return err
		}
		return relabels(ctx, j, j.aws.watch.UntagResource, j.aws.watch.TagResource, "ResourceARN", text(j.att["Arn"]))
	}
}
