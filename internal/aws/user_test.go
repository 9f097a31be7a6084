package aws_test

import (
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/spec"
	double "github.com/muster-hpc/muster/test/cloud"
)

// TestTyped fills in a type that only the reservation knows, in both of YAML's styles.
func TestTyped(t *testing.T) {
	w := newWorld(t)
	out, err := ec2.NewFromConfig(w.Config()).CreateCapacityReservation(t.Context(), &ec2.CreateCapacityReservationInput{
		AvailabilityZone: sdk.String("us-east-2a"), InstanceCount: sdk.Int32(2), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
		InstanceType: sdk.String("c5.xlarge"),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := sdk.ToString(out.CapacityReservation.CapacityReservationId)
	text := strings.Replace(plainFile, "{Name: r, InstanceType: c5.large, ", "{Name: r, CapacityReservationTarget: {CapacityReservationId: "+id+"}, ", 1) + `    - Name: p
      ComputeResources:
        - Name: s # with a comment
          CapacityReservationTarget:
            CapacityReservationId: ` + id + `
          MaxCount: 1
`
	f, found, err := aws.Typed(t.Context(), w.account, spec.OpenText("cluster.yaml", []byte(text), spec.Options{AWS: true}))
	if err != nil {
		t.Fatal(err)
	}
	if f.Cluster == nil {
		t.Fatalf("the file is not whole: %v\n%s", f.Problems.All(), f.Text())
	}
	for _, q := range f.Cluster.Scheduling.Queues {
		if got := q.ComputeResources[0].InstanceTypes; len(got) != 1 || got[0] != "c5.xlarge" {
			t.Errorf("queue %s has %v", q.Name, got)
		}
	}
	if again, more, err := aws.Typed(t.Context(), w.account, f); err != nil || again != f || len(more) != 0 || found[id].InstanceType != "c5.xlarge" {
		t.Errorf("again: %v; found %v", err, found)
	}
}

// TestOwnAddress gives the head node an Elastic IP of the account, and refuses one that
// is not there.
func TestOwnAddress(t *testing.T) {
	w := newWorld(t)
	w.heads()
	out, err := ec2.NewFromConfig(w.Config()).AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	if err != nil {
		t.Fatal(err)
	}
	with := func(address string) string {
		return strings.Replace(plainFile, "  Ssh:", "  Networking: {ElasticIp: "+address+"}\n  Ssh:", 1)
	}
	_, err = w.up(t.Context(), with("203.0.113.9"), "", &told{t: t})
	if err == nil || !strings.Contains(err.Error(), "look at 203.0.113.9 in us-east-2: it does not exist, or account 123456789012 may not see it") {
		t.Errorf("a foreign address: %v", err)
	}
	lift := w.Fail(double.Rule{Kind: double.Denied, Code: "UnauthorizedOperation", Service: "ec2", Operation: "DescribeAddresses"})
	_, err = w.up(t.Context(), with(sdk.ToString(out.PublicIp)), "", &told{t: t})
	lift()
	if want := "look at " + sdk.ToString(out.PublicIp) + " in us-east-2: UnauthorizedOperation on ec2:DescribeAddresses"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an address that may not be looked at: %v, want %s", err, want)
	}
	if _, err := w.up(t.Context(), with(sdk.ToString(out.PublicIp)), "", &told{t: t}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stopped", "running"} {
		o := aws.FleetOptions{Name: "demo", Account: w.account, Want: want, Report: &told{t: t}}
		if err := aws.Fleet(t.Context(), o); err != nil {
			t.Errorf("fleet %s: %v", want, err)
		}
	}
	w.empty()
}

// TestForeign meets stacks, regions and accounts that are not the cluster's. Nothing is
// touched.
func TestForeign(t *testing.T) {
	w := newWorld(t)
	client := cloudformation.NewFromConfig(w.Config())
	const empty = `{"Resources":{"Q":{"Type":"AWS::EC2::PlacementGroup","Properties":{"Strategy":"cluster"}}}}`
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: sdk.String("demo"), TemplateBody: sdk.String(empty)}); err != nil {
		t.Fatal(err)
	}
	const want = "there is a stack demo that is not muster's: choose another name with --cluster"
	if _, err := w.up(t.Context(), plainFile, "", &told{t: t}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("up: %v", err)
	}
	if _, err := w.down(t.Context(), true, &told{t: t}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("down: %v", err)
	}
	fleet := aws.FleetOptions{Name: "other", Account: w.account, Want: "stopped", Report: &told{t: t}}
	if err := aws.Fleet(t.Context(), fleet); err == nil || !strings.Contains(err.Error(), "cluster other has no head node in us-east-2") {
		t.Errorf("fleet: %v", err)
	}
	for _, call := range w.Calls() {
		if strings.HasPrefix(call.Operation, "Delete") || strings.HasPrefix(call.Operation, "ExecuteChangeSet") {
			t.Errorf("called %+v", call)
		}
	}
}

// TestOtherAccount looks at a cluster with credentials of another account: that it is
// not seen does not mean that it is gone.
func TestOtherAccount(t *testing.T) {
	w := newWorld(t)
	r := aws.Record{Name: "demo", Region: region, Account: "210987654321"}
	s := aws.StatusBy(t.Context(), w.account, r, time.Now())
	if s.State != "unknown" || len(s.Blind) != 1 || !strings.Contains(s.Blind[0], "it is in account 210987654321, and these are credentials of account 123456789012") {
		t.Errorf("status %+v", s)
	}
	r.Account = "123456789012"
	if s := aws.StatusBy(t.Context(), w.account, r, time.Now()); s.State != "gone" || len(s.Blind) > 0 {
		t.Errorf("status %+v", s)
	}
}
