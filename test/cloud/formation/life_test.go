package formation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func TestAStackIsMadeChangedAndDeleted(t *testing.T) {
	d := start(t)
	outputs := m{"Outputs": m{"Net": m{"Value": ref("Net")}, "Range": m{"Value": att("Net", "CidrBlock")}}}
	body := template(m{"Net": vpc("Name", "one"), "A": subnet("10.1.0.0/24"), "B": subnet("10.1.1.0/24")}, outputs)
	st := d.create("one", body)
	d.want(st, "CREATE_COMPLETE", "")
	ids := d.resources("one")
	if got := *st.Outputs[0].OutputValue; got != *ids["Net"].PhysicalResourceId || *st.Outputs[1].OutputValue != "10.1.0.0/16" {
		t.Errorf("outputs %v, want the VPC %s", got, *ids["Net"].PhysicalResourceId)
	}
	var order []string
	for _, e := range d.events("one") {
		if e.PhysicalResourceId != nil {
			order = append(order, *e.LogicalResourceId+" "+string(e.ResourceStatus))
		}
	}
	if got := strings.Join(order, ", "); !strings.HasPrefix(got, "one CREATE_IN_PROGRESS, Net CREATE_IN_PROGRESS, Net CREATE_COMPLETE, ") || !strings.HasSuffix(got, ", one CREATE_COMPLETE") {
		t.Errorf("events in the order %s", got)
	}

	_, err := d.cfn.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("one"), TemplateBody: body})
	wantError(t, err, "ValidationError", "No updates are to be performed.")

	st = d.update("one", template(m{"Net": vpc("Name", "two"), "A": subnet("10.1.0.0/24"), "C": subnet("10.1.2.0/24")}, outputs))
	d.want(st, "UPDATE_COMPLETE", "")
	now := d.resources("one")
	if len(now) != 3 || *now["Net"].PhysicalResourceId != *ids["Net"].PhysicalResourceId || now["C"].PhysicalResourceId == nil {
		t.Errorf("resources after the update: %v", now)
	}

	st = d.remove("one")
	d.want(st, "DELETE_COMPLETE", "")
	_, err = d.cfn.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("one")})
	wantError(t, err, "ValidationError", "Stack with id one does not exist")
	_, err = d.cfn.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("one")})
	d.must(err)
}

func TestAFailureRollsBack(t *testing.T) {
	d := start(t)
	body := template(m{"Net": vpc(), "A": subnet("10.1.0.0/24"), "Bad": subnet("192.168.0.0/24")})
	st := d.create("back", body)
	d.want(st, "ROLLBACK_COMPLETE", "")
	said := d.said("back")
	for _, want := range []string{
		"Bad CREATE_FAILED Resource handler returned message: \"The CIDR '192.168.0.0/24' is invalid. (Service: Ec2, Status Code: 400, Request ID: ",
		"back ROLLBACK_IN_PROGRESS The following resource(s) failed to create: [",
		"Rollback requested by user.",
		"Net DELETE_COMPLETE",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	_, err := d.cfn.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("back"), TemplateBody: body})
	wantError(t, err, "ValidationError", "Stack:"+*st.StackId+" is in ROLLBACK_COMPLETE state and can not be updated.")
	d.want(d.remove("back"), "DELETE_COMPLETE", "")
}

func TestWhatFailedIsKeptAndGoneOnWith(t *testing.T) {
	d := start(t)
	d.s.FailResource("keep", "A", "no more of these")
	body := template(m{"Net": vpc(), "A": subnet("10.1.0.0/24")})
	st := d.create("keep", body, func(in *cloudformation.CreateStackInput) { in.DisableRollback = aws.Bool(true) })
	d.want(st, "CREATE_FAILED", "The following resource(s) failed to create: [A].")
	before := d.resources("keep")
	if before["A"].ResourceStatus != "CREATE_FAILED" || *before["A"].ResourceStatusReason != "no more of these" {
		t.Errorf("A is %v", before["A"])
	}
	_, err := d.cfn.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("keep"), TemplateBody: body})
	wantError(t, err, "ValidationError", "This stack is currently in a non-terminal [CREATE_FAILED] state. To update the stack from this state, please use the disable-rollback parameter with update-stack API. To rollback to the last known good state, use the rollback-stack API")
	d.s.Heal("keep", "A")
	d.want(d.update("keep", body, func(in *cloudformation.UpdateStackInput) { in.DisableRollback = aws.Bool(true) }), "UPDATE_COMPLETE", "")
	if now := d.resources("keep"); *now["Net"].PhysicalResourceId != *before["Net"].PhysicalResourceId {
		t.Error("the network was made again")
	}
	d.want(d.remove("keep"), "DELETE_COMPLETE", "")
}

func TestAFailedUpdateGoesBack(t *testing.T) {
	d := start(t)
	d.create("up", template(m{"Net": vpc("Name", "one"), "A": subnet("10.1.0.0/24")}))
	was := d.resources("up")
	d.s.FailResource("up", "B", "no")
	st := d.update("up", template(m{"Net": vpc("Name", "two"), "A": subnet("10.1.7.0/24"), "B": subnet("10.1.1.0/24")}))
	d.want(st, "UPDATE_ROLLBACK_COMPLETE", "")
	now := d.resources("up")
	if len(now) != 2 || *now["A"].PhysicalResourceId != *was["A"].PhysicalResourceId {
		t.Errorf("resources are %v, were %v\n%s", now, was, d.said("up"))
	}
	d.want(d.update("up", template(m{"Net": vpc("Name", "three"), "A": subnet("10.1.8.0/24")})), "UPDATE_COMPLETE", "")
	if now := d.resources("up"); *now["A"].PhysicalResourceId == *was["A"].PhysicalResourceId {
		t.Error("the subnet with another range is the old one")
	}
	d.want(d.remove("up"), "DELETE_COMPLETE", "")
}

func TestARollbackThatFailsGoesOn(t *testing.T) {
	d := start(t)
	d.create("rb", template(m{"Net": vpc("Name", "one")}))
	d.s.FailResource("rb", "Net", "not now")
	st := d.update("rb", template(m{"Net": vpc("Name", "two")}))
	d.want(st, "UPDATE_ROLLBACK_FAILED", "The following resource(s) failed to update: [Net].")
	d.s.Heal("rb", "Net")
	_, err := d.cfn.ContinueUpdateRollback(t.Context(), &cloudformation.ContinueUpdateRollbackInput{StackName: aws.String("rb")})
	d.must(err)
	d.want(d.settled("rb"), "UPDATE_ROLLBACK_COMPLETE", "")
}

func TestAnUpdateThatGoesOnTakesNoOther(t *testing.T) {
	d := start(t)
	d.create("cut", template(m{"Net": vpc("Name", "one")}))
	d.s.Stick("cut", "A")
	_, err := d.cfn.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("cut"), TemplateBody: template(m{"Net": vpc("Name", "one"), "A": subnet("10.1.0.0/24")})})
	d.must(err)
	_, err = d.cfn.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("cut"), TemplateBody: template(m{"Net": vpc()})})
	wantError(t, err, "ValidationError", "Stack:"+*d.stack("cut").StackId+" is in UPDATE_IN_PROGRESS state and can not be updated.")
	d.s.Heal("cut", "A")
	d.want(d.settled("cut"), "UPDATE_COMPLETE", "")
}

func TestADeletionFailsAndRetains(t *testing.T) {
	d := start(t)
	d.create("del", template(m{"Net": vpc(), "A": subnet("10.1.0.0/24")}))
	d.s.FailDelete("del", "A", "it holds on")
	st := d.remove("del")
	d.want(st, "DELETE_FAILED", "The following resource(s) failed to delete: [A].")
	if r := d.resources("del"); r["Net"].ResourceStatus != "CREATE_COMPLETE" || *r["A"].ResourceStatusReason != "it holds on" {
		t.Errorf("resources %v", r)
	}
	st = d.remove("del", "A", "Net")
	d.want(st, "DELETE_COMPLETE", "")
	if said := d.said(*st.StackId); !strings.Contains(said, "A DELETE_SKIPPED") {
		t.Errorf("A was not left:\n%s", said)
	}
}

func TestAStackThatIsMadeIsDeleted(t *testing.T) {
	d := start(t)
	d.s.Stick("half", "A")
	out, err := d.cfn.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("half"), TemplateBody: template(m{"Net": vpc(), "A": subnet("10.1.0.0/24")})})
	d.must(err)
	_, err = d.cfn.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("half")})
	d.must(err)
	d.s.Heal("half", "A")
	d.want(d.settled(*out.StackId), "DELETE_COMPLETE", "")
}

func TestProtectionIsKept(t *testing.T) {
	d := start(t)
	d.create("safe", template(m{"Net": vpc()}), func(in *cloudformation.CreateStackInput) { in.EnableTerminationProtection = aws.Bool(true) })
	_, err := d.cfn.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("safe")})
	wantError(t, err, "ValidationError", "Stack [safe] cannot be deleted while TerminationProtection is enabled")
	_, err = d.cfn.UpdateTerminationProtection(t.Context(), &cloudformation.UpdateTerminationProtectionInput{StackName: aws.String("safe"), EnableTerminationProtection: aws.Bool(false)})
	d.must(err)
	d.want(d.remove("safe"), "DELETE_COMPLETE", "")
}

func TestOnFailureDelete(t *testing.T) {
	d := start(t)
	d.s.FailResource("away", "Net", "no")
	st := d.create("away", template(m{"Net": vpc()}), func(in *cloudformation.CreateStackInput) { in.OnFailure = types.OnFailureDelete })
	d.want(st, "DELETE_COMPLETE", "")
}

func TestTokensMakeOneStack(t *testing.T) {
	d := start(t)
	in := &cloudformation.CreateStackInput{StackName: aws.String("same"), TemplateBody: template(m{"Net": vpc()}), ClientRequestToken: aws.String("t1")}
	one, err := d.cfn.CreateStack(t.Context(), in)
	d.must(err)
	two, err := d.cfn.CreateStack(t.Context(), in)
	d.must(err)
	if *one.StackId != *two.StackId {
		t.Error("one token made two stacks")
	}
	in.ClientRequestToken = aws.String("t2")
	_, err = d.cfn.CreateStack(t.Context(), in)
	wantError(t, err, "AlreadyExistsException", "Stack [same] already exists")
	d.settled("same")
}

func TestAReplacedResourceGoesAndARemovedOneFailsToGo(t *testing.T) {
	d := start(t)
	d.create("sweep", template(m{"Net": vpc(), "A": subnet("10.1.0.0/24")}))
	d.s.FailDelete("sweep", "A", "it holds on")
	d.want(d.update("sweep", template(m{"Net": vpc()})), "UPDATE_COMPLETE", "")
	if said := d.said("sweep"); !strings.Contains(said, "A DELETE_FAILED it holds on") {
		t.Error(said)
	}
}
