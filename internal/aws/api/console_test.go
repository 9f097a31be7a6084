package api

import (
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud"
	double "github.com/muster-hpc/muster/test/cloud/ec2"
)

// TestConsole reads the consoles of a machine that has the latest lines and of an older
// one, which has those of its boot; and says of one that has none that it could not.
func TestConsole(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Alone: true})
	c.EC2.AddSubnet(double.Subnet{ID: "subnet-1", VPC: "vpc-1", Zone: "us-east-2a", CIDR: netip.MustParsePrefix("10.0.0.0/16")})
	a, id := Of(c.Config()), ""
	for _, kind := range []types.InstanceType{"c5.large", "c4.large"} {
		out, err := ec2.NewFromConfig(c.Config()).RunInstances(t.Context(), &ec2.RunInstancesInput{
			ImageId: aws.String("ami-1"), InstanceType: kind, SubnetId: aws.String("subnet-1"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		})
		if err != nil {
			t.Fatal(err)
		}
		id = *out.Instances[0].InstanceId
		c.EC2.SetConsole(id, "Kernel panic\n")
		if got, err := a.Console(t.Context(), id); err != nil || got != "Kernel panic\n" {
			t.Errorf("of %s: %q, %v", kind, got, err)
		}
	}
	c.Fail(cloud.Rule{Operation: "GetConsoleOutput", Kind: cloud.Refused, Code: "UnsupportedOperation", Message: "Not of this type", Status: 400})
	if _, err := a.Console(t.Context(), id); err == nil || err.Error() != "read the console of "+id+": UnsupportedOperation: Not of this type" {
		t.Errorf("without any console: %v", err)
	}
}
