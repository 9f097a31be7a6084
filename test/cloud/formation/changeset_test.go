package formation_test

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// ready waits until a change set is worked out.
func (d *double) ready(stack, name string) *cloudformation.DescribeChangeSetOutput {
	d.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		out, err := d.cfn.DescribeChangeSet(d.Context(), &cloudformation.DescribeChangeSetInput{StackName: &stack, ChangeSetName: &name})
		d.must(err)
		if out.Status != types.ChangeSetStatusCreateInProgress && out.Status != types.ChangeSetStatusCreatePending {
			return out
		}
		<-time.After(2 * time.Millisecond)
	}
	d.Fatalf("change set %s of %s is not ready", name, stack)
	return nil
}
