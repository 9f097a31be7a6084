package nodes_test

import (
	"fmt"
	"maps"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// What EC2 may choose from, and under which conditions.
func TestFleetRequest(t *testing.T) {
	for name, row := range map[string]struct {
		whole bool
		edit  func(*nodes.Resource)
		want  map[string]string
	}{
		"several_types": {false, func(*nodes.Resource) {}, map[string]string{
			"OnDemandOptions.AllocationStrategy": "lowest-price", "OnDemandOptions.MinTargetCapacity": "1", "OnDemandOptions.SingleAvailabilityZone": "true",
			"OnDemandOptions.SingleInstanceType": "false", "OnDemandOptions.CapacityReservationOptions.UsageStrategy": "use-capacity-reservations-first",
			"LaunchTemplateConfigs.1.Overrides.2.InstanceType": "c5a.large", "LaunchTemplateConfigs.1.Overrides.2.SubnetId": "subnet-1",
			"TargetCapacitySpecification.DefaultTargetCapacityType": "on-demand", "Type": "instant",
		}},
		"over_zones": {false, func(r *nodes.Resource) { r.Subnets = []string{"subnet-1", "subnet-2"} }, map[string]string{
			"OnDemandOptions.MinTargetCapacity": "", "OnDemandOptions.SingleAvailabilityZone": "false", "LaunchTemplateConfigs.1.Overrides.4.SubnetId": "subnet-2",
		}},
		"over_zones_whole": {true, func(r *nodes.Resource) { r.Subnets = []string{"subnet-1", "subnet-2"} }, map[string]string{
			"OnDemandOptions.MinTargetCapacity": "3", "OnDemandOptions.SingleAvailabilityZone": "true",
		}},
		"one_type_over_zones": {true, func(r *nodes.Resource) { r.Types, r.Subnets = r.Types[:1], []string{"subnet-1", "subnet-2"} }, map[string]string{
			"OnDemandOptions.MinTargetCapacity": "3", "OnDemandOptions.SingleAvailabilityZone": "false", "OnDemandOptions.SingleInstanceType": "true",
		}},
		"spot": {true, func(r *nodes.Resource) {
			r.Capacity, r.Strategy, r.SpotPrice = "SPOT", "capacity-optimized-prioritized", "1.5"
		}, map[string]string{
			"SpotOptions.AllocationStrategy": "capacity-optimized-prioritized", "SpotOptions.MinTargetCapacity": "3", "OnDemandOptions.MinTargetCapacity": "",
			"LaunchTemplateConfigs.1.Overrides.1.MaxPrice": "1.5", "LaunchTemplateConfigs.1.Overrides.2.Priority": "1", "TargetCapacitySpecification.DefaultTargetCapacityType": "spot",
		}},
		"capacity_block": {true, func(r *nodes.Resource) { r.Capacity = "CAPACITY_BLOCK" }, map[string]string{
			"OnDemandOptions.AllocationStrategy": "", "TargetCapacitySpecification.DefaultTargetCapacityType": "capacity-block",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			config := c.config(t)
			row.edit(&config.Resources[2])
			launchAll(t, open(t, config), row.whole, nodeNames("dy-f", 1, 3)...)
			for _, l := range c.tokens {
				form, err := url.ParseQuery(l.request)
				if err != nil {
					t.Fatal(err)
				}
				for key, want := range row.want {
					if got := form.Get(key); got != want {
						t.Errorf("%s is %q, want %q", key, got, want)
					}
				}
			}
		})
	}
}

func TestResources(t *testing.T) {
	file := `Region: us-east-2
Tags: [{Key: team, Value: a}, {Key: cost, Value: "1"}]
Image: {Os: alinux2023}
HeadNode: {InstanceType: c5.large, Networking: {SubnetId: subnet-0123456789abcdef0}}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: gpu
      Tags: [{Key: cost, Value: "2"}]
      CapacityType: SPOT
      AllocationStrategy: capacity-optimized
      CapacityReservationTarget: {CapacityReservationId: cr-0123456789abcdef0}
      Networking: {SubnetIds: [subnet-0123456789abcdef0]}
      ComputeResources:
        - {Name: a, Instances: [{InstanceType: c5.large}, {InstanceType: c5a.large}], MinCount: 1, MaxCount: 4, SpotPrice: 2.5, Tags: [{Key: own, Value: x}, {Key: team, Value: b}]}
`
	c, problems := spec.Parse("c.yaml", []byte(file))
	if c == nil {
		t.Fatal(problems)
	}
	want := []nodes.Resource{{
		Resource: slurm.Resource{Queue: "gpu", Name: "a"}, Template: "test-gpu-a", Types: []string{"c5.large", "c5a.large"}, Subnets: []string{"subnet-1"}, Capacity: "SPOT",
		Strategy: "capacity-optimized", SpotPrice: "2.5", Reservation: "cr-0123456789abcdef0", Static: 1, Dynamic: 3,
		Tags: []spec.Tag{{Key: "team", Value: "a"}, {Key: "cost", Value: "1"}, {Key: "cost", Value: "2"}, {Key: "own", Value: "x"}, {Key: "team", Value: "b"}},
	}}
	got := nodes.Resources(c, manifest.Site{Cluster: "test", Subnets: map[string][]string{"gpu": {"subnet-1"}}})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestFileTags launches with the cluster file's tags, which never take the place of
// muster's, and as many of them as EC2 takes.
func TestFileTags(t *testing.T) {
	for name, resource := range map[string]int{"run_instances": 0, "create_fleet": 2} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			config := c.config(t)
			r := &config.Resources[resource]
			r.Tags = []spec.Tag{{Key: "team", Value: "before"}, {Key: "team", Value: "a"}, {Key: "Name", Value: "mine"}, {Key: "muster:cluster", Value: "other"}, {Key: "muster:node", Value: "other"}}
			for i := range 60 {
				r.Tags = append(r.Tags, spec.Tag{Key: fmt.Sprint("tag", i), Value: "v"})
			}
			launchAll(t, open(t, config), false, nodeNames("dy-"+r.Name, 1, 2)...)
			for _, i := range c.living() {
				tags := maps.Clone(i.tags)
				delete(tags, "aws:ec2:fleet-id")
				if len(tags) != 50 || tags["muster:launch"] == "" || tags["muster:nodes"] == "" || tags["tag0"] != "v" {
					t.Errorf("%d tags: %v", len(tags), tags)
				}
				if tags["team"] != "a" || tags["Name"] != "mine" || tags["muster:cluster"] != "c" || tags["muster:node"] != "" {
					t.Errorf("tags: %v", tags)
				}
			}
			if len(c.living()) != 2 {
				t.Errorf("%d instances, want 2", len(c.living()))
			}
		})
	}
}
