package nodes_test

import (
	"net/netip"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	sdkec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
	cloudtest "github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/ec2"
)

// double is the double of AWS that tests of whole clusters use, which was made by
// others, with the templates of the fleet.
func double(t *testing.T) (*cloudtest.Cloud, nodes.Config) {
	t.Helper()
	c := cloudtest.Start(t, cloudtest.Options{Alone: true, Speed: 1})
	c.EC2.AddSubnet(ec2.Subnet{ID: "subnet-1", VPC: "vpc-1", Zone: "us-east-2a", CIDR: netip.MustParsePrefix("10.0.0.0/16")})
	config := (&cloud{}).config(t)
	config.AWS = c.Config()
	client := sdkec2.NewFromConfig(config.AWS)
	for _, r := range config.Resources {
		cards := []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: sdk.Int32(0), NetworkCardIndex: sdk.Int32(0), InterfaceType: sdk.String("interface")}}
		data := &types.RequestLaunchTemplateData{ImageId: sdk.String("ami-1"), NetworkInterfaces: cards}
		if len(r.Types) == 1 {
			data.InstanceType = types.InstanceType(r.Types[0])
			cards[0].SubnetId = sdk.String("subnet-1")
		}
		if _, err := client.CreateLaunchTemplate(t.Context(), &sdkec2.CreateLaunchTemplateInput{LaunchTemplateName: &r.Template, LaunchTemplateData: data}); err != nil {
			t.Fatal(err)
		}
	}
	return c, config
}

func TestSuiteOnTheDouble(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Place {
		c, config := double(t)
		var now *nodes.Fleet
		watched := func(t *testing.T) provider.Provider {
			now = open(t, config)
			look(t, now)
			return now
		}
		return providertest.Place{
			Provider: watched(t), Nodes: []string{"q-st-r-1", "q-dy-r-1", "q-dy-f-1"}, Again: watched,
			Kill: func(t *testing.T, node string) { c.EC2.Kill(observe(t, now)[node].ID) },
		}
	})
}

// Whichever answer of the double is lost, each node gets one machine.
func TestLostAnswersOfTheDouble(t *testing.T) {
	for lost := 1; ; lost++ {
		c, config := double(t)
		f := open(t, config)
		hit := c.Cut(lost)
		failed := f.Launch(t.Context(), append(providertest.Orders(nodeNames("dy-f", 1, 2)...), providertest.Whole(nodeNames("dy-r", 1, 4)...)), nil)
		record, cut := hit()
		alive := 0
		for _, i := range c.EC2.Instances() {
			if i.State == "pending" || i.State == "running" {
				alive++
			}
		}
		if got := observe(t, f); len(failed) > 0 || alive != 6 || len(got) != 6 {
			t.Errorf("call %d (%v): failed %v, %d live, %d are observed", lost, record, failed, alive, len(got))
		}
		if !cut {
			return
		}
	}
}

func TestHealthOfTheDouble(t *testing.T) {
	c, config := double(t)
	config.Limits.Health = time.Nanosecond
	f := open(t, config)
	launchAll(t, f, true, nodeNames("dy-r", 1, 2)...)
	c.Clock.Advance(time.Minute)
	c.EC2.Impair(observe(t, f)["q-dy-r-1"].ID, true)
	if got := observe(t, f); len(got["q-dy-r-1"].Health) == 0 || len(got["q-dy-r-2"].Health) != 0 {
		t.Errorf("health events: %v", got)
	}
}

// Wherever there are 700 of 1,000 machines, a job for all of them starts none.
func TestCapacityOfTheDouble(t *testing.T) {
	c, config := double(t)
	c.EC2.SetCapacity("c5.large", "us-east-2a", 700)
	f := open(t, config)
	failed := f.Launch(t.Context(), []provider.Order{providertest.Whole(nodeNames("dy-r", 1, 1000)...)}, nil)
	if len(failed) != 1000 || cause(t, failed["q-dy-r-1"]) != provider.Capacity || len(c.EC2.Instances()) > 0 {
		t.Errorf("%d failed: %v, %d instances", len(failed), failed["q-dy-r-1"], len(c.EC2.Instances()))
	}
	failed = f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 1000)...), nil)
	if len(failed) != 300 || len(observe(t, f)) != 700 {
		t.Errorf("%d failed, best effort", len(failed))
	}
}
