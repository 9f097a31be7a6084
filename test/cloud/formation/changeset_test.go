package formation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// ready waits until a change set is worked out.
func (d *double) ready(stack, name string) *cloudformation.DescribeChangeSetOutput {
	d.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
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

// propose makes a change set and waits until it is worked out.
func (d *double) propose(stack, name string, kind types.ChangeSetType, body *string) *cloudformation.DescribeChangeSetOutput {
	d.Helper()
	_, err := d.cfn.CreateChangeSet(d.Context(), &cloudformation.CreateChangeSetInput{StackName: &stack, ChangeSetName: &name, ChangeSetType: kind, TemplateBody: body})
	d.must(err)
	return d.ready(stack, name)
}

// lines are the changes of a set, a line each.
func lines(set *cloudformation.DescribeChangeSetOutput) string {
	out := ""
	for _, c := range set.Changes {
		r := c.ResourceChange
		out += fmt.Sprintf("%s %s %s", r.Action, *r.LogicalResourceId, r.Replacement)
		for _, detail := range r.Details {
			out += fmt.Sprintf(" [%s.%s %s %s %s %s]", detail.Target.Attribute, aws.ToString(detail.Target.Name), detail.Target.RequiresRecreation,
				detail.Evaluation, detail.ChangeSource, aws.ToString(detail.CausingEntity))
		}
		out += "\n"
	}
	return out
}

func TestChangeSetsSayWhatIsReplaced(t *testing.T) {
	d := start(t)
	instance := func(version any) m {
		return res("AWS::EC2::Instance", m{"LaunchTemplate": m{"LaunchTemplateId": ref("T"), "Version": version}})
	}
	launch := func(kind string) m {
		return res("AWS::EC2::LaunchTemplate", m{"LaunchTemplateData": m{"InstanceType": kind, "ImageId": d.image()}})
	}
	before := template(m{"Net": vpc("Name", "one"), "A": subnet("10.1.0.0/24"), "B": subnet("10.1.1.0/24"), "T": launch("c5.xlarge"), "I": instance(att("T", "LatestVersionNumber"))})
	set := d.propose("set", "first", types.ChangeSetTypeCreate, before)
	if st := d.stack("set"); st.StackStatus != "REVIEW_IN_PROGRESS" {
		t.Errorf("the stack is %s", st.StackStatus)
	}
	if got, want := lines(set), "Add Net \nAdd T \nAdd A \nAdd B \nAdd I \n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	_, err := d.cfn.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: aws.String("set"), ChangeSetName: aws.String("first")})
	d.must(err)
	d.want(d.settled("set"), "CREATE_COMPLETE", "")

	after := template(m{"Net": vpc("Name", "two"), "A": subnet("10.1.9.0/24"), "C": subnet("10.1.2.0/24"), "T": launch("c5.2xlarge"), "I": instance(att("T", "LatestVersionNumber"))})
	set = d.propose("set", "second", types.ChangeSetTypeUpdate, after)
	want := `Modify Net False [Properties.Tags Never Static DirectModification ]
Modify T False [Properties.LaunchTemplateData Never Static DirectModification ]
Modify A True [Properties.CidrBlock Always Static DirectModification ]
Add C 
Modify I Conditional [Properties.LaunchTemplate Always Dynamic ResourceAttribute T.LatestVersionNumber]
Remove B 
`
	if got := lines(set); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if st := d.stack("set"); st.StackStatus != "CREATE_COMPLETE" {
		t.Errorf("a change set has made the stack %s", st.StackStatus)
	}
	was := d.resources("set")
	_, err = d.cfn.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: aws.String("set"), ChangeSetName: aws.String("second")})
	d.must(err)
	d.want(d.settled("set"), "UPDATE_COMPLETE", "")
	now := d.resources("set")
	for id, same := range map[string]bool{"Net": true, "A": false, "T": true, "I": false} {
		if (*was[id].PhysicalResourceId == *now[id].PhysicalResourceId) != same {
			t.Errorf("%s was %s and is %s", id, *was[id].PhysicalResourceId, *now[id].PhysicalResourceId)
		}
	}
	_, err = d.cfn.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: aws.String("set"), ChangeSetName: aws.String("second")})
	wantError(t, err, "InvalidChangeSetStatus", "ChangeSet ["+*set.ChangeSetId+"] cannot be executed in its current status of [EXECUTE_COMPLETE]")

	set = d.propose("set", "third", types.ChangeSetTypeUpdate, after)
	if set.Status != types.ChangeSetStatusFailed || *set.StatusReason != "The submitted information didn't contain changes. Submit different information to create a change set." {
		t.Errorf("a change set without changes is %s: %s", set.Status, aws.ToString(set.StatusReason))
	}
	_, err = d.cfn.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: aws.String("set"), ChangeSetName: aws.String("third")})
	wantError(t, err, "InvalidChangeSetStatus", "ChangeSet ["+*set.ChangeSetId+"] cannot be executed in its current status of [FAILED]")
	_, err = d.cfn.DeleteChangeSet(t.Context(), &cloudformation.DeleteChangeSetInput{StackName: aws.String("set"), ChangeSetName: aws.String("third")})
	d.must(err)
	_, err = d.cfn.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{StackName: aws.String("set"), ChangeSetName: aws.String("third")})
	wantError(t, err, "ChangeSetNotFound", "ChangeSet [third] does not exist")
	d.want(d.remove("set"), "DELETE_COMPLETE", "")
}

// image is one of the double's machine images.
func (d *double) image() string {
	d.Helper()
	return (&furniture{d: d, c: ec2.NewFromConfig(d.cloud.Config())}).make("ami-00000000000000001")
}

func TestChangeSetsFitTheirStack(t *testing.T) {
	d := start(t)
	ask := func(kind types.ChangeSetType) error {
		_, err := d.cfn.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{StackName: aws.String("fit"), ChangeSetName: aws.String("c"), ChangeSetType: kind, TemplateBody: template(m{"Net": vpc()})})
		return err
	}
	wantError(t, ask(types.ChangeSetTypeUpdate), "ValidationError", "Stack [fit] does not exist")
	d.create("fit", template(m{"Net": vpc()}))
	wantError(t, ask(types.ChangeSetTypeCreate), "ValidationError", "Stack [fit] already exists and cannot be created again with the changeSet [c].")
}
