package formation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A stack within a stack is made by the calls that a user would make.

func nestedParameters(props map[string]any) []types.Parameter {
	all, _ := props["Parameters"].(map[string]any)
	var out []types.Parameter
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(text(all[name]))})
	}
	return out
}

func nestedTags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

var everything = []types.Capability{types.CapabilityCapabilityNamedIam}

func createNested(ctx context.Context, j *job) error {
	out, err := j.aws.nested.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: aws.String(j.generated(128)), TemplateURL: aws.String(text(j.props["TemplateURL"])),
		Parameters: nestedParameters(j.props), Tags: nestedTags(j.labels()), Capabilities: everything, OnFailure: types.OnFailureDoNothing})
	if err != nil {
		return err
	}
	j.id = *out.StackId
	return nil
}

func (j *job) child(ctx context.Context) (*types.Stack, error) {
	out, err := j.aws.nested.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &j.id})
	if err != nil {
		return nil, err
	}
	return &out.Stacks[0], nil
}

func readyNested(ctx context.Context, j *job) (bool, error) {
	st, err := j.child(ctx)
	if err != nil {
		return false, err
	}
	switch status := string(st.StackStatus); {
	case status == "CREATE_COMPLETE" || status == "UPDATE_COMPLETE":
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		return false, nil
	default:
		return false, reason("Embedded stack %s was not successfully created: %s", j.id, aws.ToString(st.StackStatusReason))
	}
	for _, o := range st.Outputs {
		j.att["Outputs."+*o.OutputKey] = aws.ToString(o.OutputValue)
	}
	return true, nil
}

func updateNested(ctx context.Context, j *job) error {
	_, err := j.aws.nested.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: &j.id, TemplateURL: aws.String(text(j.props["TemplateURL"])),
		Parameters: nestedParameters(j.props), Tags: nestedTags(j.labels()), Capabilities: everything})
	if message(err) == "No updates are to be performed." {
		return nil
	}
	return err
}

func removeNested(ctx context.Context, j *job) error {
	_, err := j.aws.nested.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &j.id})
	return err
}

func goneNested(ctx context.Context, j *job) (bool, error) {
	st, err := j.child(ctx)
	if err == nil && st.StackStatus == types.StackStatusDeleteFailed {
		return false, reason("Embedded stack %s was not successfully deleted: %s", j.id, aws.ToString(st.StackStatusReason))
	}
	return err == nil && st.StackStatus == types.StackStatusDeleteComplete, err
}
