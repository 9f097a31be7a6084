package stack

import (
	"fmt"
	"testing"
)

func TestHeadNode_with_several_cards_has_an_address_of_its_own(t *testing.T) {
	for _, c := range []struct {
		kind, elastic, networking string
		want                      bool
	}{
		{"c6i.large", "", "", false},
		{"p4d.24xlarge", "", "", true},
		{"p4d.24xlarge", "false", "", false},
		{"c6i.large", "true", "", true},
		{"p4d.24xlarge", "", "subnet-0123456789abcdef0", false},
	} {
		text := "Region: us-east-2\nImage: {Os: alinux2023}\nHeadNode:\n  InstanceType: " + c.kind + "\n"
		if c.elastic != "" || c.networking != "" {
			text += "  Networking:\n"
		}
		if c.elastic != "" {
			text += "    ElasticIp: " + c.elastic + "\n"
		}
		subnets := ""
		if c.networking != "" {
			text += "    SubnetId: " + c.networking + "\n"
			subnets = "\n      Networking: {SubnetIds: [" + c.networking + "]}"
		}
		text += "Scheduling:\n  Scheduler: slurm\n  SlurmQueues:\n    - Name: q" + subnets + "\n      ComputeResources: [{Name: r, InstanceType: c6i.large}]\n"
		root := parse(t, text)
		f := facts("cards", root)
		f.Subnets = map[string]Subnet{"subnet-0123456789abcdef0": {VPC: "vpc-0123456789abcdef0", Zone: "us-east-2a", Public: true}}
		set, err := New(root, nil, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := set.Cluster.Template.Resource("HeadNodeAddress"); got != c.want {
			t.Errorf("%s: it has an address: %t, want %t", fmt.Sprintf("%+v", c), got, c.want)
		}
	}
}
