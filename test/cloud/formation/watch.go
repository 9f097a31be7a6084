package formation

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

func createLogGroup(ctx context.Context, j *job) error {
	name := text(j.props["LogGroupName"])
	if name == "" {
		name = j.generated(512)
	}
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
	j.att["Arn"] = "arn:aws:logs:" + j.aws.region + ":" + j.stack.account + ":log-group:" + name + ":*"
	return j.retention(ctx)
}

func (j *job) retention(ctx context.Context) error {
	if !j.changed("RetentionInDays") {
		return nil
	}
	if j.props["RetentionInDays"] == nil {
		_, err := j.aws.logs.DeleteRetentionPolicy(ctx, &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: &j.id})
		return err
	}
	days, err := strconv.Atoi(text(j.props["RetentionInDays"]))
	if err != nil {
		return wrongType("RetentionInDays", "Integer", j.props["RetentionInDays"])
	}
	_, err = j.aws.logs.PutRetentionPolicy(ctx, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: &j.id, RetentionInDays: aws.Int32(int32(days))})
	return err
}

func updateLogGroup(ctx context.Context, j *job) error {
	if err := j.retention(ctx); err != nil {
		return err
	}
	arn := text(j.att["Arn"])
	arn = arn[:len(arn)-len(":*")]
	set, unset := j.relabelled()
	if len(unset) > 0 {
		if _, err := j.aws.logs.UntagResource(ctx, &cloudwatchlogs.UntagResourceInput{ResourceArn: &arn, TagKeys: unset}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err := j.aws.logs.TagResource(ctx, &cloudwatchlogs.TagResourceInput{ResourceArn: &arn, Tags: set})
	return err
}

func removeLogGroup(ctx context.Context, j *job) error {
	_, err := j.aws.logs.DeleteLogGroup(ctx, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: &j.id})
	return err
}

func putDashboard(ctx context.Context, j *job) error {
	if j.id == "" {
		if j.id = text(j.props["DashboardName"]); j.id == "" {
			j.id = j.generated(255)
		}
	}
	_, err := j.aws.watch.PutDashboard(ctx, &cloudwatch.PutDashboardInput{DashboardName: &j.id, DashboardBody: aws.String(document(j.props["DashboardBody"]))})
	return err
}

func removeDashboard(ctx context.Context, j *job) error {
	_, err := j.aws.watch.DeleteDashboards(ctx, &cloudwatch.DeleteDashboardsInput{DashboardNames: []string{j.id}})
	return err
}

func watchTags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

func (j *job) alarm() *string {
	if j.id == "" {
		if j.id = text(j.props["AlarmName"]); j.id == "" {
			j.id = j.generated(255)
		}
		j.att["Arn"] = "arn:aws:cloudwatch:" + j.aws.region + ":" + j.stack.account + ":alarm:" + j.id
	}
	return &j.id
}

func putAlarm(ctx context.Context, j *job) error {
	fresh := j.id == ""
	in := &cloudwatch.PutMetricAlarmInput{AlarmName: j.alarm()}
	if err := fill(in, without(j.props, "Tags"), nil); err != nil {
		return err
	}
	if fresh {
		in.Tags = watchTags(j.labels())
	}
	if _, err := j.aws.watch.PutMetricAlarm(ctx, in); err != nil || fresh {
		return err
	}
	return j.retagAlarm(ctx)
}

func putComposite(ctx context.Context, j *job) error {
	fresh := j.id == ""
	in := &cloudwatch.PutCompositeAlarmInput{AlarmName: j.alarm()}
	if err := fill(in, without(j.props, "Tags"), nil); err != nil {
		return err
	}
	if fresh {
		in.Tags = watchTags(j.labels())
	}
	if _, err := j.aws.watch.PutCompositeAlarm(ctx, in); err != nil || fresh {
		return err
	}
	return j.retagAlarm(ctx)
}

// retagAlarm is needed as putting an alarm again leaves its tags as they are.
func (j *job) retagAlarm(ctx context.Context) error {
	arn := aws.String(text(j.att["Arn"]))
	set, unset := j.relabelled()
	if len(unset) > 0 {
		if _, err := j.aws.watch.UntagResource(ctx, &cloudwatch.UntagResourceInput{ResourceARN: arn, TagKeys: unset}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err := j.aws.watch.TagResource(ctx, &cloudwatch.TagResourceInput{ResourceARN: arn, Tags: watchTags(set)})
	return err
}

func removeAlarm(ctx context.Context, j *job) error {
	_, err := j.aws.watch.DeleteAlarms(ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{j.id}})
	return err
}
