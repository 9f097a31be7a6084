package stack

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// facts are what an account says: two architectures, two zones, three subnets.
func facts(name string, file *spec.Cluster) Facts {
	region := file.Region
	f := Facts{
		Name: name, Region: region, Partition: "aws", Account: "123456789012",
		Caller: netip.MustParsePrefix("192.0.2.7/32"), Zones: []string{region + "a", region + "b"}, KeyName: "muster-" + name,
		Subnets: map[string]inventory.Subnet{
			"subnet-00000000000000001": {VPC: "vpc-00000000000000001", Zone: region + "a", CIDR: "10.1.0.0/24", Free: 250, Public: true},
			"subnet-00000000000000002": {VPC: "vpc-00000000000000001", Zone: region + "a", CIDR: "10.1.16.0/20", Free: 4000},
			"subnet-00000000000000003": {VPC: "vpc-00000000000000001", Zone: region + "b", CIDR: "10.1.32.0/20", Free: 4000},
		},
		Images: map[string]inventory.Image{},
		Programs: map[string]manifest.Program{
			"amd64": {Key: manifest.ProgramKey(strings.Repeat("a", 64), "amd64"), SHA256: strings.Repeat("a", 64)},
			"arm64": {Key: manifest.ProgramKey(strings.Repeat("b", 64), "arm64"), SHA256: strings.Repeat("b", 64)},
		},
		FileSystems: map[string]inventory.FileSystem{
			"fs-00000000000000002":    {Host: "fs-00000000000000002.fsx." + region + ".amazonaws.com", Export: "abcdefgh"},
			"fsvol-00000000000000001": {Host: "fs-00000000000000003.fsx." + region + ".amazonaws.com", Export: "/fsx/vol"},
			"fsvol-00000000000000002": {Host: "svm-00000000000000001.fs-00000000000000004.fsx." + region + ".amazonaws.com", Export: "/vol"},
			"fc-00000000000000001":    {Host: "fc-00000000000000001.fsx." + region + ".amazonaws.com", Export: "ijklmnop"},
		},
		Reservations: map[string]inventory.Reservation{
			"cr-00000000000000001": {InstanceType: "p4d.24xlarge", Zone: region + "a", Total: 2},
			"cr-00000000000000002": {InstanceType: "p5en.48xlarge", Zone: region + "a", Total: 4, Block: true},
			"cr-00000000000000003": {
				InstanceType: "p5.48xlarge", Zone: region + "a", Total: 4,
				PlacementGroup: "arn:aws:ec2:us-east-2:123456789012:placement-group/reserved",
			},
		},
		Exists:          map[string]bool{"muster-test-there": true},
		ProfileRoles:    map[string][]string{"arn:aws:iam::123456789012:instance-profile/compute": {"arn:aws:iam::123456789012:role/profiled"}},
		ElasticIPs:      map[string]string{"192.0.2.10": "eipalloc-00000000000000001"},
		HostedZoneName:  "example.com.",
		LaunchTemplates: map[string]json.RawMessage{"lt-0123456789abcdef0:3": json.RawMessage(`{"EbsOptimized":true,"KeyName":null,"PrivateDnsNameOptions":{"HostnameType":"ip-name","EnableResourceNameDnsARecord":null}}`)},
	}
	if strings.HasPrefix(region, "cn-") {
		f.Partition = "aws-cn"
	}
	images(&f, file)
	complete(file, f)
	return f
}

// images gives each machine an image of its architecture.
func images(f *Facts, file *spec.Cluster) {
	image := func(kind string) inventory.Image {
		if strings.HasPrefix(kind, "c7g") {
			return inventory.Image{ID: "ami-00000000000000002", RootDevice: "/dev/xvda", RootGiB: 45, Arch: "arm64"}
		}
		return inventory.Image{ID: "ami-00000000000000001", RootDevice: "/dev/xvda", RootGiB: 45, Arch: "amd64"}
	}
	f.Images[""] = image(file.HeadNode.InstanceType)
	for _, q := range file.Scheduling.Queues {
		f.Images[q.Name] = image(strings.Join(q.ComputeResources[0].InstanceTypes, " "))
	}
	for _, p := range file.LoginPools {
		f.Images["login/"+p.Name] = image(p.InstanceType)
	}
}

// complete gives a file the instance types that it leaves to reservations, as Up does.
func complete(file *spec.Cluster, f Facts) {
	for _, q := range file.Scheduling.Queues {
		for i, r := range q.ComputeResources {
			if len(r.InstanceTypes) == 0 {
				q.ComputeResources[i].InstanceTypes = []string{f.Reservations[r.Reservation.ID].InstanceType}
			}
		}
	}
}

// open reads a cluster file and muster.yaml beside it.
func open(t *testing.T, path string) (*spec.Cluster, *spec.Workload) {
	t.Helper()
	f := spec.Open(path, spec.Options{AWS: true})
	workload := strings.TrimSuffix(path, ".yaml") + ".muster.yaml"
	if filepath.Base(path) == "cluster.yaml" {
		workload = spec.WorkloadPath(path)
	}
	if _, err := os.Stat(workload); err != nil {
		return f.Model(), nil
	}
	w, problems := spec.LoadWorkload(workload, f.Cluster)
	if problems.HasErrors() {
		t.Fatal(problems.All())
	}
	return f.Model(), w
}

// least is the cluster of which the templates are kept whole. Those of the others are
// kept as what makes them different: a change of all launch templates is one line.
const least = "least"

func TestNew_makes_the_templates_of_testdata(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	base := templates(t, least, "testdata/"+least+".yaml")
	for _, path := range append(files, "../../../examples/guide-80/cluster.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		switch {
		case strings.HasSuffix(name, ".muster"):
			continue
		case name == "cluster":
			name = "guide-80"
		}
		t.Run(name, func(t *testing.T) {
			for part, f := range templates(t, name, path) {
				if b, ok := base[part]; ok && name != least { // the least has no storage
					f.base = &b
				}
				f.check(t)
			}
		})
	}
}

// templates are those of a cluster, by the last part of their stack's name.
func templates(t *testing.T, name, path string) map[string]folded {
	t.Helper()
	file, w := open(t, path)
	set, err := New(file, w, facts(name, file))
	if err != nil {
		t.Fatal(err)
	}
	out, region := map[string]folded{}, file.Region
	for _, s := range set.Stacks() {
		body, err := s.Template.JSON()
		if err != nil {
			t.Fatal(err)
		}
		part := partOf(name, s.Name)
		out[part] = folded{
			file: name + "." + part + ".txt", body: body,
			words: map[string]string{"{cluster}": name, "{region}": region, "{zone a}": region + "a", "{zone b}": region + "b"},
		}
	}
	return out
}

func partOf(cluster, stack string) string {
	if cluster == stack {
		return "cluster"
	}
	return strings.TrimPrefix(stack, cluster+"-")
}
