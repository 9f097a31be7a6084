package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/account"
	"github.com/muster-hpc/muster/test/cloud/ec2"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

const (
	instanceType = "p5e.48xlarge"
	subnetID     = "subnet-00000000000000001"
	zoneID       = "Z0123456789ABC"
	zoneName     = "bench.pcluster"
)

// latency is how long calls take. It is a model, not measured at AWS.
type latency struct {
	run, perInstance, describe, other, table, zone time.Duration
}

// modelled is what EC2, DynamoDB and Route 53 are taken to need; none is a network
// and services that take no time, where only the client's work is seen.
var (
	modelled = latency{
		run: 1500 * time.Millisecond, perInstance: 4 * time.Millisecond, describe: 200 * time.Millisecond,
		other: 50 * time.Millisecond, table: 8 * time.Millisecond, zone: 120 * time.Millisecond,
	}
	none = latency{}
)

// endpoint is the AWS that both sides call.
type endpoint struct {
	aws      *cloud.Cloud
	zone     *zone
	launched atomic.Int64
}

// startEndpoint runs it with a launch template of the one compute resource.
func startEndpoint(ctx context.Context, sc scenario, l latency) (*endpoint, error) {
	e := &endpoint{zone: &zone{takes: l.zone, records: map[string]string{}}}
	var err error
	e.aws, err = cloud.Run(ctx, cloud.Options{Region: "us-east-2", Speed: 1, Alone: true, EC2: ec2.Options{
		OnLaunch: func(ec2.Instance) { e.launched.Add(1) },
		Latency: ec2.Latency{Call: l.other, PerInstance: l.perInstance, Calls: map[string]time.Duration{
			"RunInstances": l.run, "CreateFleet": l.run, "DescribeInstances": l.describe, "DescribeInstanceStatus": l.describe,
		}},
	}, Missing: func(service, operation, why string) { fmt.Println("nobody implements", service, operation, why) }})
	if err != nil {
		return nil, err
	}
	e.aws.Handle("dynamodb", &table{takes: l.table, items: map[string]map[string]string{}})
	e.aws.Handle("route53", e.zone)
	e.aws.EC2.AddSubnet(ec2.Subnet{ID: subnetID, VPC: "vpc-00000000000000001", Zone: "us-east-2a", CIDR: netip.MustParsePrefix("10.1.0.0/16")})
	e.aws.Account.SetQuota(account.Quota{Service: "ec2", Code: "L-417A185B", Value: 1_000_000})
	e.aws.EC2.SetCapacity(instanceType, "us-east-2a", sc.capacity)
	call := wire.NewCall("ec2", "us-east-2", launchTemplate(sc.interfaces))
	if answer, ok := e.aws.EC2.Answer(ctx, call); !ok || answer.Status >= 400 {
		return nil, fmt.Errorf("make the launch template: %s", answer.Body)
	}
	return e, nil
}

// launchTemplate asks for a launch template such as both sides make for a p5e: a
// plain interface, and with more than one, efa-only ones on all cards.
func launchTemplate(interfaces int) url.Values {
	form := url.Values{"Action": {"CreateLaunchTemplate"}, "LaunchTemplateName": {cluster + "-" + queue + "-" + resource}}
	const data = "LaunchTemplateData."
	form.Set(data+"ImageId", "ami-00000000000000001")
	form.Set(data+"InstanceType", instanceType)
	for i := range interfaces {
		at := data + "NetworkInterface." + strconv.Itoa(i+1) + "."
		form.Set(at+"SubnetId", subnetID)
		form.Set(at+"SecurityGroupId.1", "sg-00000000000000001")
		form.Set(at+"NetworkCardIndex", strconv.Itoa(max(0, i-1)))
		form.Set(at+"DeviceIndex", strconv.Itoa(min(i, 1)))
		if i > 0 {
			form.Set(at+"InterfaceType", "efa-only")
		}
	}
	form.Set(data+"TagSpecification.1.ResourceType", "instance")
	for i, t := range [][2]string{
		{"parallelcluster:cluster-name", cluster}, {"parallelcluster:node-type", "Compute"},
		{"muster:cluster", cluster}, {"muster:role", "compute"}, {"muster:queue", queue}, {"muster:resource", resource},
	} {
		at := data + "TagSpecification.1.Tag." + strconv.Itoa(i+1) + "."
		form.Set(at+"Key", t[0])
		form.Set(at+"Value", t[1])
	}
	return form
}

func (e *endpoint) close() error { return e.aws.Close() }

// env are variables for programs. An empty AWS_PROFILE is no profile for SDKs but
// boto3, which takes it for one.
func (e *endpoint) env() []string {
	return slices.DeleteFunc(e.aws.Env(), func(v string) bool { return v == "AWS_PROFILE=" })
}

// calls counts the calls so far by their names.
func (e *endpoint) calls() map[string]int {
	n := map[string]int{}
	for _, c := range e.aws.Calls() {
		n[c.Operation]++
	}
	return n
}

// instances are how many there ever were, and how many are left.
func (e *endpoint) instances() (launched, left int) {
	return int(e.launched.Load()), len(e.aws.EC2.Instances())
}

// addressed counts the nodes that have the address of an instance of their own, and
// the right record in the zone.
func (e *endpoint) addressed(nodes []node) int {
	alive := map[string]bool{}
	for _, i := range e.aws.EC2.Instances() {
		alive[i.PrivateIP.String()] = true
	}
	e.zone.mu.Lock()
	defer e.zone.mu.Unlock()
	n := 0
	for _, node := range nodes {
		if alive[node.address] && e.zone.records[node.name+"."+zoneName] == node.address {
			alive[node.address] = false // of one node only
			n++
		}
	}
	return n
}

// freePorts are two ports that nobody listens on.
func freePorts(ctx context.Context) ([]int, error) {
	var ports []int
	for range 2 {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, _ := strings.Cut(l.Addr().String(), ":")
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		ports = append(ports, n)
	}
	return ports, nil
}
