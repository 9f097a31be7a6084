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

func nested(j *job) props {
	out := merged(tagging("Tags", j.labels()), props{"TemplateURL": j.props["TemplateURL"], "Capabilities": []any{"CAPABILITY_NAMED_IAM"}})
	given, _ := j.props["Parameters"].(props)
	var params []any
	for _, name := range slices.Sorted(maps.Keys(given)) {
		params = append(params, props{"ParameterKey": name, "ParameterValue": given[name]})
	}
	if params != nil {
		out["Parameters"] = params
	}
	return out
}

func createNested(ctx context.Context, j *job) error {
	out, err := ask(ctx, j.aws.nested.CreateStack, merged(nested(j), props{"StackName": j.generated(128), "OnFailure": "DO_NOTHING"}), nil)
	if err == nil {
		j.id = *out.StackId
	}
	return err
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
	err := tell(ctx, j.aws.nested.UpdateStack, merged(nested(j), props{"StackName": j.id}))
	if message(err) == "No updates are to be performed." {
		return nil
	}
	return err
}

func goneNested(ctx context.Context, j *job) (bool, error) {
	st, err := j.child(ctx)
	if err == nil && st.StackStatus == types.StackStatusDeleteFailed {
		return false, reason("Embedded stack %s was not successfully deleted: %s", j.id, aws.ToString(st.StackStatusReason))
	}
	return err == nil && st.StackStatus == types.StackStatusDeleteComplete, err
}
