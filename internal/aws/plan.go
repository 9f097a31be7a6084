package aws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/stack"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/plan"
)

// Plan is what `up` is about to do: what a person has to see before it costs. Its
// JSON only ever gets more fields.
type Plan struct {
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	Account string `json:"account"`
	// Caller is the ARN of the identity that asks.
	Caller string `json:"caller"`
	// New says that no stack of the cluster is there yet.
	New    bool        `json:"new"`
	Stacks []StackPlan `json:"stacks"`
	// Changes are the keys of the cluster file that differ from the cluster's.
	Changes []plan.Change `json:"changes,omitempty"`
	// Accounts are the changes of Slurm's accounts, users and QoS that muster.yaml asks for.
	Accounts []string `json:"accounts,omitempty"`
	// Always is what an hour costs as long as the cluster is there, Full with all nodes.
	Always plan.Cost `json:"always_hour"`
	Full   plan.Cost `json:"full_hour"`
	// Program is the muster that the cluster's machines are to run, where it is another
	// one than theirs.
	Program string `json:"program,omitempty"`
	// Trial is the test job in the end, nil if there is none.
	Trial *Trial `json:"trial,omitempty"`
	// PriceRegion is where the prices hold.
	PriceRegion string   `json:"price_region"`
	Notes       []string `json:"notes,omitempty"`
}

// StackPlan is what becomes of a stack.
type StackPlan struct {
	Name string `json:"name"`
	// Action is create, change, keep, remove, or settle: an operation goes on or failed, and
	// the changes are known once it has ended.
	Action string `json:"action"`
	// Why is there with settle.
	Why     string           `json:"why,omitempty"`
	Changes []ResourceChange `json:"changes,omitempty"`
}

// ResourceChange is a resource's change in words.
type ResourceChange struct {
	cloudformation.Change
	// Name is what people know the resource by, What it is, Billed by what it costs.
	Name   string `json:"name,omitempty"`
	What   string `json:"what,omitempty"`
	Billed string `json:"billed,omitempty"`
}

// Empty says that the cluster is as its file says.
func (p *Plan) Empty() bool {
	return !slices.ContainsFunc(p.Stacks, func(s StackPlan) bool { return s.Action != "keep" }) && len(p.Changes)+len(p.Accounts) == 0 && p.Program == "" && (p.Trial == nil || p.Trial.Static)
}

// inWords joins changes with what the stacks say of their resources.
func inWords(set stack.Set, name string, changes []cloudformation.Change) []ResourceChange {
	made := map[string]stack.Made{}
	for _, m := range set.Resources() {
		if m.Stack == name {
			made[m.ID] = m
		}
	}
	var all []ResourceChange
	for _, c := range changes {
		m := made[c.Resource]
		all = append(all, ResourceChange{Change: c, Name: m.Name, What: m.What, Billed: m.Billed})
	}
	return all
}

// additions are the changes that make a new stack.
func additions(set stack.Set, name string) []ResourceChange {
	var all []ResourceChange
	for _, m := range set.Resources() {
		if m.Stack == name {
			all = append(all, ResourceChange{
				Change: cloudformation.Change{Action: cloudformation.Add, Resource: m.ID, Type: m.Type, Keeps: m.Kept}, Name: m.Name, What: m.What, Billed: m.Billed,
			})
		}
	}
	return all
}

// holdsData are the types of resources whose end is the end of data.
var holdsData = []string{
	"AWS::FSx::FileSystem", "AWS::FSx::Volume", "AWS::EFS::FileSystem", "AWS::EC2::Volume", "AWS::S3::Bucket", "AWS::RDS::DBInstance", "AWS::RDS::DBCluster",
}

// losses are changes that would take data away.
func losses(s StackPlan) []string {
	var all []string
	for _, c := range s.Changes {
		if !slices.Contains(holdsData, c.Type) || c.Keeps {
			continue
		}
		switch c.Action {
		case cloudformation.Replace, cloudformation.MayReplace:
			all = append(all, fmt.Sprintf("%s (%s) would be made anew, without its data, for %s changes", c.label(), c.ID, strings.Join(c.Properties, ", ")))
		case cloudformation.Remove:
			all = append(all, fmt.Sprintf("%s (%s) would be deleted with its data: write DeletionPolicy: Retain and run `muster up` before it leaves the file", c.label(), c.ID))
		}
	}
	return all
}

func (c ResourceChange) label() string {
	switch {
	case c.Name != "" && c.What != "":
		return c.What + " " + c.Name
	case c.What != "":
		return c.What
	}
	return c.Type + " " + c.Resource
}

// refusals are why a change must not be begun. running is how many compute nodes
// run, login how many login nodes.
func refusals(changes []plan.Change, running, login int) []string {
	var all []string
	for _, c := range changes {
		switch {
		case c.Need == plan.Never:
			all = append(all, fmt.Sprintf("%s cannot be changed in a cluster that exists (%s): %s", c.Path, c.Values(), c.Instead))
		case c.Need == plan.Stopped && running > 0:
			all = append(all, fmt.Sprintf("%s cannot be changed while compute nodes run, and %d do (%s): %s", c.Path, running, c.Values(), c.Instead))
		case c.Need == plan.Login && login > 0:
			all = append(all, fmt.Sprintf("%s cannot be changed while login nodes run, and %d do (%s): %s", c.Path, login, c.Values(), c.Instead))
		}
	}
	return all
}

// Refused is a change that was not begun.
type Refused struct{ Reasons []string }

func (r *Refused) Error() string {
	return "nothing was changed: " + strings.Join(r.Reasons, "; ")
}

// price adds what the stacks cost beside the machines and the storage of the
// estimate: prices in us-east-1 of https://aws.amazon.com/vpc/pricing/ and
// https://aws.amazon.com/elasticloadbalancing/pricing/ (2026).
func price(e *plan.Estimate, set stack.Set) (always, full plan.Cost) {
	beside := 0.0
	for _, m := range set.Resources() {
		beside += besides[m.Type]
	}
	always, full = e.Price.LeastAll.Hour, e.Price.All.Hour
	always.USD, full.USD = always.USD+beside, full.USD+beside
	return always, full
}

// besides are dollars an hour.
var besides = map[string]float64{
	"AWS::EC2::NatGateway": 0.045, "AWS::EC2::EIP": 0.005, "AWS::ElasticLoadBalancingV2::LoadBalancer": 0.0225,
	"AWS::Route53::HostedZone": 0.50 / catalog.HoursPerMonth, "AWS::CloudWatch::Dashboard": 3.0 / catalog.HoursPerMonth,
	"AWS::CloudWatch::Alarm": 0.10 / catalog.HoursPerMonth, "AWS::CloudWatch::CompositeAlarm": 0.50 / catalog.HoursPerMonth,
}
