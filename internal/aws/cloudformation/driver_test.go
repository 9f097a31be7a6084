package cloudformation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// twoGroups is a template of a network with two security groups.
const twoGroups = `{"Parameters": {"Text": {"Type": "String", "Default": "one"}}, "Resources": {
"Net": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
"A": {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": {"Ref": "Text"}, "VpcId": {"Ref": "Net"}}},
"B": {"Type": "AWS::EC2::SecurityGroup", "DependsOn": "A", "Properties": {"GroupDescription": "b", "VpcId": {"Ref": "Net"}}}},
"Outputs": {"NetId": {"Value": {"Ref": "Net"}}}}`

func start(t *testing.T) (*cloud.Cloud, *cloudformation.Driver) {
	t.Helper()
	c := cloud.Start(t, cloud.Options{Speed: 600})
	return c, cloudformation.New(c.Config())
}

func TestEnsure(t *testing.T) {
	_, d := start(t)
	ctx := t.Context()
	s := cloudformation.Stack{Name: "s", Template: []byte(twoGroups), Tags: map[string]string{"muster:cluster": "s"}}
	var seen []string
	d.Tell = func(e cloudformation.Event) {
		if e.Matters() {
			seen = append(seen, e.Resource+" "+e.Status)
		}
	}
	state, p, err := d.Ensure(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Create || len(p.Changes) != 3 || p.Changes[0].Action != cloudformation.Add {
		t.Errorf("created by %+v", p)
	}
	if state.Status != "CREATE_COMPLETE" || !strings.HasPrefix(state.Outputs["NetId"], "vpc-") || state.Tags["muster:cluster"] != "s" {
		t.Errorf("state %+v", state)
	}
	if want := []string{"Net CREATE_COMPLETE", "A CREATE_COMPLETE", "B CREATE_COMPLETE"}; !cmp.Equal(seen, want) {
		t.Errorf("events %v", seen)
	}
	if _, p, err = d.Ensure(ctx, s); err != nil || p.ID != "" {
		t.Errorf("again: %+v, %v", p, err)
	}
	s.Parameters = map[string]string{"Text": "two"}
	state, p, err = d.Ensure(ctx, s)
	if err != nil || state.Status != "UPDATE_COMPLETE" || len(p.Changes) == 0 || p.Changes[0].Action != cloudformation.Replace || p.Changes[0].Resource != "A" {
		t.Errorf("changed: %+v, %+v, %v", state, p, err)
	}
	if err := d.Delete(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Describe(ctx, "s"); !errors.Is(err, cloudformation.ErrNoStack) {
		t.Errorf("after it was deleted: %v", err)
	}
	if err := d.Delete(ctx, "s"); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestCreateFails(t *testing.T) {
	c, d := start(t)
	s := cloudformation.Stack{Name: "s", Template: []byte(twoGroups)}
	c.Formation.FailResource("s", "A", `Resource handler returned message: "You have too many of these (Service: Ec2, Status Code: 400, Request ID: 1)" (RequestToken: 2, HandlerErrorCode: ServiceLimitExceeded)`)
	_, _, err := d.Ensure(t.Context(), s)
	failure, ok := errors.AsType[*cloudformation.Failure](err)
	if !ok || failure.State.Status != "ROLLBACK_COMPLETE" {
		t.Fatalf("got %v", err)
	}
	if want := "stack s is ROLLBACK_COMPLETE: A (AWS::EC2::SecurityGroup) could not be made: You have too many of these"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	c.Formation.Heal("s", "A")
	if state, _, err := d.Ensure(t.Context(), s); err != nil || state.Status != "CREATE_COMPLETE" {
		t.Errorf("again: %+v, %v", state, err)
	}
}

func TestUpdateFailsAndRollbackFails(t *testing.T) {
	c, d := start(t)
	ctx := t.Context()
	s := cloudformation.Stack{Name: "s", Template: []byte(twoGroups)}
	if _, _, err := d.Ensure(ctx, s); err != nil {
		t.Fatal(err)
	}
	s.Template = []byte(strings.Replace(twoGroups, `"GroupDescription": "b"`, `"GroupDescription": "c"`, 1))
	c.Formation.FailResource("s", "B", "not today")
	_, _, err := d.Ensure(ctx, s)
	if err == nil || !strings.Contains(err.Error(), "B (AWS::EC2::SecurityGroup") || !strings.Contains(err.Error(), "could not be changed: not today") {
		t.Errorf("got %v", err)
	}
	c.Formation.Heal("s", "B")
	if state, _, err := d.Ensure(ctx, s); err != nil || state.Status != "UPDATE_COMPLETE" {
		t.Errorf("again: %+v, %v", state, err)
	}
}

func TestDeleteFails(t *testing.T) {
	c, d := start(t)
	ctx := t.Context()
	if _, _, err := d.Ensure(ctx, cloudformation.Stack{Name: "s", Template: []byte(twoGroups)}); err != nil {
		t.Fatal(err)
	}
	c.Formation.FailDelete("s", "A", "resource sg-1 has a dependent object")
	err := d.Delete(ctx, "s")
	if err == nil || !strings.Contains(err.Error(), "could not be deleted: resource sg-1 has a dependent object") {
		t.Errorf("got %v", err)
	}
	c.Formation.Heal("s", "A")
	if err := d.Delete(ctx, "s"); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestCutAfterEachCall ends the driver after each of its calls, before it knows the
// answer, and begins again: it always reaches the goal.
func TestCutAfterEachCall(t *testing.T) {
	c, d := start(t)
	for n := 1; ; n++ {
		s := cloudformation.Stack{Name: fmt.Sprintf("s%d", n), Template: []byte(twoGroups)}
		ctx, cancel := context.WithCancel(t.Context())
		was := c.After(n, func(*wire.Call) { cancel() })
		_, _, _ = d.Ensure(ctx, s) // cut off, or done if it was the last call
		cancel()
		call, hit := was()
		if !hit {
			t.Logf("%d calls", n-1)
			return
		}
		if state, _, err := d.Ensure(t.Context(), s); err != nil || state.Status != "CREATE_COMPLETE" {
			t.Errorf("cut after call %d, %v: %+v, %v", n, call, state, err)
		}
		if err := d.Delete(t.Context(), s.Name); err != nil {
			t.Errorf("cut after call %d, %v: %v", n, call, err)
		}
	}
}
