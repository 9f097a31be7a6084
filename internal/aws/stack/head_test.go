package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/inventory"
)

func TestHeadNode_takes_the_address_that_the_file_names(t *testing.T) {
	const id = "eipalloc-0123456789abcdef0"
	text := "Region: us-east-2\nImage: {Os: alinux2023}\nHeadNode:\n  InstanceType: c6i.large\n  Networking: {ElasticIp: " + id + "}\n" +
		"Scheduling:\n  Scheduler: slurm\n  SlurmQueues:\n    - Name: q\n      ComputeResources: [{Name: r, InstanceType: c6i.large}]\n"
	root := parse(text)
	f := facts("address", root)
	if _, err := New(root, nil, f); err == nil || !strings.Contains(err.Error(), "no address "+id) {
		t.Errorf("an address that nobody has: %v", err)
	}
	f.ElasticIPs = map[string]string{id: id}
	set, err := New(root, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, made := set.Cluster.Template.Resource("HeadNodeAddress"); made {
		t.Error("an address is made, too")
	}
	link, _ := set.Cluster.Template.Resource("HeadNodeAddressLink")
	want := cfn.EIPAssociation{AllocationId: cfn.Lit(id), NetworkInterfaceId: cfn.Ref("HeadNodeInterface")}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(link.Properties)); diff != "" {
		t.Error(diff)
	}
}

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
		root := parse(text)
		f := facts("cards", root)
		f.Subnets = map[string]inventory.Subnet{"subnet-0123456789abcdef0": {VPC: "vpc-0123456789abcdef0", Zone: "us-east-2a", Public: true}}
		set, err := New(root, nil, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := set.Cluster.Template.Resource("HeadNodeAddress"); got != c.want {
			t.Errorf("%s: it has an address: %t, want %t", fmt.Sprintf("%+v", c), got, c.want)
		}
	}
}
