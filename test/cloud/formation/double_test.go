package formation_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/formation"
)

// double is a CloudFormation with its client.
type double struct {
	*testing.T
	cloud *cloud.Cloud
	s     *formation.Service
	cfn   *cloudformation.Client
}

// speed is that of the clock: a minute in a few hundredths of a second.
const speed = 2000

func start(t *testing.T) *double {
	t.Helper()
	t.Parallel() // stacks take their time, and each test has a double of its own
	c := cloud.Start(t, cloud.Options{Speed: speed})
	return &double{T: t, cloud: c, s: c.Formation, cfn: cloudformation.NewFromConfig(c.Config())}
}

type m = map[string]any

// template is one with the given resources.
func template(resources m, more ...m) *string {
	t := m{"Resources": resources}
	for _, part := range more {
		for k, v := range part {
			t[k] = v
		}
	}
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return aws.String(string(b))
}

func ref(id string) m        { return m{"Ref": id} }
func att(id, name string) m  { return m{"Fn::GetAtt": []string{id, name}} }
func res(kind string, p m) m { return m{"Type": kind, "Properties": p} }
func tags(pairs ...string) []m {
	var out []m
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, m{"Key": pairs[i], "Value": pairs[i+1]})
	}
	return out
}

func vpc(more ...string) m {
	return res("AWS::EC2::VPC", m{"CidrBlock": "10.1.0.0/16", "Tags": tags(more...)})
}

func subnet(cidr string) m {
	return res("AWS::EC2::Subnet", m{"VpcId": ref("Net"), "CidrBlock": cidr, "AvailabilityZone": "us-east-2a"})
}

func (d *double) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// stack describes a stack.
func (d *double) stack(name string) types.Stack {
	d.Helper()
	out, err := d.cfn.DescribeStacks(d.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	d.must(err)
	return out.Stacks[0]
}

// patience is how long a stack may take, on a machine that does much else.
const patience = 5 * time.Minute

// settled waits until no operation goes on and gives the stack.
func (d *double) settled(name string) types.Stack {
	d.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		st := d.stack(name)
		if s := string(st.StackStatus); len(s) < 11 || s[len(s)-11:] != "IN_PROGRESS" {
			return st
		}
		<-time.After(5 * time.Millisecond)
	}
	d.Fatalf("stack %s is still %s", name, d.stack(name).StackStatus)
	return types.Stack{}
}

// create makes a stack and waits for its end.
func (d *double) create(name string, body *string, tune ...func(*cloudformation.CreateStackInput)) types.Stack {
	d.Helper()
	in := &cloudformation.CreateStackInput{StackName: &name, TemplateBody: body, Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam}}
	for _, f := range tune {
		f(in)
	}
	out, err := d.cfn.CreateStack(d.Context(), in)
	d.must(err)
	return d.settled(*out.StackId)
}

func (d *double) update(name string, body *string, tune ...func(*cloudformation.UpdateStackInput)) types.Stack {
	d.Helper()
	in := &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: body, Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam}}
	for _, f := range tune {
		f(in)
	}
	_, err := d.cfn.UpdateStack(d.Context(), in)
	d.must(err)
	return d.settled(name)
}

// remove deletes a stack and waits for its end.
func (d *double) remove(name string, retain ...string) types.Stack {
	d.Helper()
	id := *d.stack(name).StackId
	_, err := d.cfn.DeleteStack(d.Context(), &cloudformation.DeleteStackInput{StackName: &name, RetainResources: retain})
	d.must(err)
	return d.settled(id)
}

// want holds a stack's status and its reason against what was expected.
func (d *double) want(st types.Stack, status types.StackStatus, why string) {
	d.Helper()
	if st.StackStatus != status || aws.ToString(st.StackStatusReason) != why {
		d.Errorf("stack %s is %s: %q\nwant %s: %q\n%s", *st.StackName, st.StackStatus, aws.ToString(st.StackStatusReason), status, why, d.said(*st.StackId))
	}
}

// events are the events of a stack, oldest first.
func (d *double) events(name string) []types.StackEvent {
	d.Helper()
	var all []types.StackEvent
	pages := cloudformation.NewDescribeStackEventsPaginator(d.cfn, &cloudformation.DescribeStackEventsInput{StackName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.Context())
		d.must(err)
		all = append(all, page.StackEvents...)
	}
	for i := range len(all) / 2 {
		all[i], all[len(all)-1-i] = all[len(all)-1-i], all[i]
	}
	return all
}

// said are the events as text.
func (d *double) said(name string) string {
	out := ""
	for _, e := range d.events(name) {
		out += *e.LogicalResourceId + " " + string(e.ResourceStatus) + " " + aws.ToString(e.ResourceStatusReason) + "\n"
	}
	return out
}

// resources are the physical IDs of a stack's resources.
func (d *double) resources(name string) map[string]types.StackResourceSummary {
	d.Helper()
	out := map[string]types.StackResourceSummary{}
	pages := cloudformation.NewListStackResourcesPaginator(d.cfn, &cloudformation.ListStackResourcesInput{StackName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.Context())
		d.must(err)
		for _, r := range page.StackResourceSummaries {
			out[*r.LogicalResourceId] = r
		}
	}
	return out
}
