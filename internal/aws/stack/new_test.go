package stack

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/spec"
)

// parse reads a cluster file from a text.
func parse(text string) *spec.Cluster {
	return spec.OpenText("cluster.yaml", []byte(text), spec.Options{AWS: true}).Model()
}

// fleet is a file with queues of compute resources of one type.
func fleet(queues, resources int, kind string) string {
	var b strings.Builder
	b.WriteString("Region: us-east-2\nImage: {Os: alinux2023}\nHeadNode: {InstanceType: c6i.large}\nScheduling:\n  Scheduler: slurm\n  SlurmQueues:\n")
	for q := range queues {
		fmt.Fprintf(&b, "    - Name: q%d\n      Networking: {PlacementGroup: {Enabled: true}}\n      ComputeResources:\n", q)
		for r := range resources {
			fmt.Fprintf(&b, "        - {Name: r%d, InstanceType: %s, MaxCount: 10, Efa: {Enabled: true}}\n", r, kind)
		}
	}
	return b.String()
}

func TestNew_the_largest_fleet_fits(t *testing.T) {
	for _, shape := range [][2]int{{50, 1}, {1, 50}, {10, 5}} {
		root := parse(fleet(shape[0], shape[1], "p5e.48xlarge"))
		set, err := New(root, nil, facts("large", root))
		if err != nil {
			t.Errorf("%v: %v", shape, err)
			continue
		}
		body, _ := set.Cluster.Body()
		t.Logf("%v: %d resources, %d bytes", shape, len(set.Cluster.Template.Resources), len(body))
	}
}

func TestInterfaces(t *testing.T) {
	for _, c := range []struct {
		name, kind, efa, dev string
		want                 int
		first, last          card
	}{
		{"p5e_with_efa", "p5e.48xlarge", "true", "", 33, card{}, card{31, 1, efaOnly}},
		{"p5e_without_efa", "p5e.48xlarge", "false", "", 32, card{}, card{31, 1, ""}},
		{"p5e_in_the_old_way", "p5e.48xlarge", "true", "DevSettings: {EfaInterfaceType: efa}", 32, card{0, 0, efaBoth}, card{31, 1, efaBoth}},
		{"first_card_without_efa", "p6-b300.48xlarge", "true", "", 17, card{}, card{16, 1, efaOnly}},
		{"one_card", "c5n.18xlarge", "true", "", 2, card{}, card{0, 1, efaOnly}},
		{"one_interface_a_card", "hpc6id.32xlarge", "true", "", 2, card{0, 0, efaBoth}, card{1, 0, efaOnly}},
		{"no_efa_at_all", "c6i.large", "false", "", 1, card{}, card{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(fleet(1, 1, c.kind), "Enabled: true}}\n", "Enabled: "+c.efa+"}}\n", 2)
			text = strings.Replace(text, "Efa: {Enabled: true}", "Efa: {Enabled: "+c.efa+"}", 1) + c.dev
			file := parse(text)
			got := interfaces(file, file.Scheduling.Queues[0].ComputeResources[0])
			if len(got) != c.want || got[0] != c.first || got[len(got)-1] != c.last {
				t.Errorf("got %d, first %+v, last %+v", len(got), got[0], got[len(got)-1])
			}
		})
	}
}

func TestNew_says_what_cannot_be_made(t *testing.T) {
	const file = "Region: us-east-2\nImage: {Os: alinux2023}\nHeadNode: {InstanceType: c6i.large%s}\nScheduling:\n  Scheduler: slurm\n%s  SlurmQueues:\n    - Name: q\n%s      ComputeResources:\n        - {Name: r, InstanceType: c6i.large, MaxCount: %s}\n%s"
	for _, c := range []struct{ name, head, slurm, queue, count, more, want string }{
		{"half_a_network", "", "", "      Networking: {SubnetIds: [subnet-00000000000000002]}\n", "1", "", "queue q has a subnet of yours, and the head node has none"},
		{"unknown_subnet", ", Networking: {SubnetId: subnet-00000000000000009}", "", "      Networking: {SubnetIds: [subnet-00000000000000002]}\n", "1", "", "subnet subnet-00000000000000009 is not known"},
		{"another_vpc", ", Networking: {SubnetId: subnet-00000000000000004}", "", "      Networking: {SubnetIds: [subnet-00000000000000002]}\n", "1", "", "a cluster is in one VPC"},
		{"too_many_nodes", "", "", "", "40000", "", "the fleet needs 40100 addresses"},
		{"public_nodes", "", "", "      Networking: {AssignPublicIp: true}\n", "1", "", "AssignPublicIp is for subnets of yours"},
		{"address", ", Networking: {ElasticIp: 192.0.2.99}", "", "", "1", "", "the account has no address 192.0.2.99"},
		{"zone", "", "  SlurmSettings: {Dns: {HostedZoneId: Z1}}\n", "", "1", "", "the name of hosted zone Z1 is not known"},
		{"profile", "", "", "      Iam: {InstanceProfile: 'arn:aws:iam::1:instance-profile/x'}\n", "1", "", "the role of instance profile"},
		{"root_volume", ", LocalStorage: {RootVolume: {Size: 20}}", "", "", "1", "", "the root volume has 20 GiB"},
		{"file_system", "", "", "", "1", "SharedStorage: [{Name: f, MountDir: /f, StorageType: FsxLustre, FsxLustreSettings: {FileSystemId: fs-00000000000000009}}]", "fs-00000000000000009 is not known"},
		{"launch_template", "", "", "", "1, LaunchTemplateOverrides: {LaunchTemplateId: lt-1, Version: 9}", "", "compute resource r: version 9 of launch template lt-1 is not known"},
		{"volumes", "", "", "", "1", "SharedStorage:" + strings.Repeat("\n  - {Name: f, MountDir: /f, StorageType: Ebs, EbsSettings: {VolumeId: vol-1}}", 12), "cannot have more than 11 volumes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := parse(fmt.Sprintf(file, c.head, c.slurm, c.queue, c.count, c.more))
			f := facts("c", root)
			f.HostedZoneName = ""
			f.Subnets["subnet-00000000000000004"] = inventory.Subnet{VPC: "vpc-00000000000000002", Zone: "us-east-2a"}
			if _, err := New(root, nil, f); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestNew_refuses_two_launch_templates_of_one_name(t *testing.T) {
	text := strings.NewReplacer("Name: q1", "Name: q0-r", "Name: r0", "Name: r-s").Replace(fleet(2, 1, "p5e.48xlarge"))
	at := strings.LastIndex(text, "Name: r-s")
	root := parse(text[:at] + "Name: s" + text[at+len("Name: r-s"):])
	_, err := New(root, nil, facts("c", root))
	want := "compute resource r-s of queue q0 and compute resource s of queue q0-r give one launch template, c-q0-r-s: give one of them another name"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNew_without_images_and_programs(t *testing.T) {
	root := parse(fleet(1, 1, "p5e.48xlarge"))
	f := facts("c", root)
	f.Images, f.Programs = nil, nil
	_, err := New(root, nil, f)
	for _, want := range []string{"the head node: no machine image is known", "queue q0: no machine image is known"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestNew_lets_nobody_in_who_is_not_named(t *testing.T) {
	root := parse(fleet(1, 1, "p5e.48xlarge"))
	f := facts("c", root)
	f.Caller = netip.Prefix{}
	set, err := New(root, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := set.Base.Template.Resource("HeadSecurityGroup")
	if rules := r.Properties.(cfn.SecurityGroup).SecurityGroupIngress; len(rules) != 0 {
		t.Errorf("got %+v", rules)
	}
}

func TestID_tells_names_apart(t *testing.T) {
	seen := map[string]string{}
	for _, names := range [][]string{
		{"a"}, {"ab"}, {"a-b"}, {"a1"}, {"a-1"}, {"a", "b"}, {"a-b", "c"}, {"a", "b-c"}, {"a_b"}, {"a.b"}, {"a-"}, {"-a"}, {"A"}, {"ä"}, {"a--b"}, {"aB"},
	} {
		got := id("X", names...)
		if !regexp.MustCompile(`^X[A-Za-z0-9]+$`).MatchString(got) {
			t.Errorf("%v: %s is no logical name", names, got)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%v and %s are both %s", names, other, got)
		}
		seen[got] = strings.Join(names, "/")
	}
}

func TestNew_reads_files_of_all_levels(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range spec.Levels() {
		for _, path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".yaml")
			if strings.HasSuffix(name, ".muster") {
				continue
			}
			file := spec.Open(path, spec.Options{AWS: true, Level: level}).Model()
			if _, err := New(file, nil, facts(name, file)); err != nil {
				t.Errorf("%s at level %s: %v", name, level, err)
			}
		}
	}
}

func TestNew_takes_names_that_look_alike(t *testing.T) {
	root := parse(`
Region: us-east-2
Image: {Os: alinux2023}
HeadNode: {InstanceType: c6i.large}
LoginNodes:
  Pools:
    - {Name: people, Count: 1, InstanceType: c6i.large}
    - {Name: template-people, Count: 1, InstanceType: c6i.large}
    - {Name: balancer-people, Count: 1, InstanceType: c6i.large}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - {Name: head, ComputeResources: [{Name: node, InstanceType: c6i.large, MaxCount: 1}]}
    - {Name: login-people, ComputeResources: [{Name: node, InstanceType: c6i.large, MaxCount: 1}]}
    - {Name: a, ComputeResources: [{Name: b-c-d, InstanceType: c6i.large, MaxCount: 1}]}
    - {Name: a-b-c, ComputeResources: [{Name: e, InstanceType: c6i.large, MaxCount: 1}]}
SharedStorage:
  - {Name: raid, MountDir: /a, StorageType: Ebs, EbsSettings: {Raid: {Type: 1, NumberOfVolumes: 2}}}
  - {Name: raid-1, MountDir: /b, StorageType: Ebs}
  - {Name: raid-n1, MountDir: /c, StorageType: Ebs}
  - {Name: host, MountDir: /d, StorageType: Efs}
  - {Name: Host, MountDir: /e, StorageType: Efs}
  - {Name: host-id, MountDir: /f, StorageType: Efs}
  - {Name: h-ost, MountDir: /g, StorageType: Efs}
`)
	if _, err := New(root, nil, facts("c", root)); err != nil {
		t.Error(err)
	}
}
