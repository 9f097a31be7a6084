package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	sdkec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/test/cloud/ec2"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// shore is the double's EC2 in a bubble of time: its calls go through no network.
type shore struct {
	t   *testing.T
	ec2 *ec2.EC2

	mu sync.Mutex // guards asked
	// asked are the launches that were asked for, by launch template.
	asked map[string][]asking
}

// asking is a launch: when, and whether EC2 had fewer machines than were wanted.
type asking struct {
	at    time.Time
	short bool
}

var instanceID = regexp.MustCompile(`<(?:instanceId|item)>i-[0-9a-f]{17}<`)

// RoundTrip lets the double answer, and takes note of launches.
func (s *shore) RoundTrip(r *http.Request) (*http.Response, error) {
	call, err := wire.Take(r)
	if err != nil {
		return nil, err
	}
	answer, ok := s.ec2.Answer(r.Context(), call)
	if !ok {
		s.t.Errorf("the double has no %s", call.Action)
		answer = wire.Missing("no %s", call.Action)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", answer.Type)
	if answer.Status != 0 {
		w.WriteHeader(answer.Status)
	}
	for _, part := range slices.Insert(slices.Clone(answer.Parts), 0, answer.Body) {
		_, _ = w.Write(part)
	}
	s.note(call, w.Body.Bytes())
	return w.Result(), nil
}

func (s *shore) note(call *wire.Call, answer []byte) {
	template, most := call.Form.Get("LaunchTemplate.LaunchTemplateName"), call.Form.Get("MaxCount")
	switch call.Action {
	case "RunInstances":
	case "CreateFleet":
		template = call.Form.Get("LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName")
		most = call.Form.Get("TargetCapacitySpecification.TotalTargetCapacity")
	default:
		return
	}
	wanted, err := strconv.Atoi(most)
	if err != nil {
		s.t.Errorf("%s wants %q: %v", call.Action, most, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[template] = append(s.asked[template], asking{at: time.Now(), short: len(instanceID.FindAll(answer, -1)) < wanted})
}

// ashore makes the scene a cluster on the double's EC2: of two zones r has the one, s
// the other and a larger type, and z has both.
func ashore(t *testing.T, s *scene) *shore {
	costly(s)
	place := &shore{t: t, ec2: ec2.New(ec2.Options{Clock: wire.NewClock(1), Region: "us-east-2", Account: "123456789012"}), asked: map[string][]asking{}}
	for i, zone := range []string{"us-east-2a", "us-east-2b"} {
		place.ec2.AddSubnet(ec2.Subnet{ID: fmt.Sprint("subnet-", i+1), VPC: "vpc-1", Zone: zone, CIDR: netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/24", i))})
	}
	resource := func(name, kind string, subnets ...string) nodes.Resource {
		return nodes.Resource{Resource: slurm.Resource{Queue: "q", Name: name}, Template: "c-q-" + name, Types: []string{kind}, Subnets: subnets, Capacity: "ONDEMAND", Strategy: "lowest-price", Dynamic: 4}
	}
	config := nodes.Config{
		Cluster: "c", Log: slog.New(slog.DiscardHandler), Limits: nodes.Limits{Health: time.Hour},
		Resources: []nodes.Resource{resource("r", "c5.large", "subnet-1"), resource("s", "c5.xlarge", "subnet-2"), resource("z", "c5.large", "subnet-1", "subnet-2")},
		AWS: sdk.Config{Region: "us-east-2", HTTPClient: &http.Client{Transport: place}, Credentials: sdk.CredentialsProviderFunc(
			func(context.Context) (sdk.Credentials, error) {
				return sdk.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
			})},
	}
	place.templates(config)
	s.fleet = place.open(config)
	s.slurm.place = &lookout{Provider: place.open(config), ec2: place.ec2}
	return place
}

func (s *shore) templates(c nodes.Config) {
	client := sdkec2.NewFromConfig(c.AWS)
	for _, r := range c.Resources {
		card := types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{DeviceIndex: sdk.Int32(0), InterfaceType: sdk.String("interface")}
		if len(r.Subnets) == 1 {
			card.SubnetId = &r.Subnets[0]
		}
		_, err := client.CreateLaunchTemplate(s.t.Context(), &sdkec2.CreateLaunchTemplateInput{LaunchTemplateName: &r.Template, LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: sdk.String("ami-1"), InstanceType: types.InstanceType(r.Types[0]),
			NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{card},
		}})
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *shore) open(c nodes.Config) *nodes.Fleet {
	c.Journal = filepath.Join(s.t.TempDir(), "launches")
	f, err := nodes.Open(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = f.Close() }) // the test ends
	return f
}

// lookout is what slurmd on the machines know: it looks at them only if they are others.
type lookout struct {
	provider.Provider
	ec2  *ec2.EC2
	ids  []string
	seen []provider.Instance
}

func (l *lookout) Observe(ctx context.Context) ([]provider.Instance, error) {
	var ids []string
	for _, i := range l.ec2.Instances() {
		ids = append(ids, i.ID)
	}
	if slices.Equal(ids, l.ids) {
		return l.seen, nil
	}
	seen, err := l.Provider.Observe(ctx)
	if err == nil {
		l.ids, l.seen = ids, seen
	}
	return seen, err
}

// tide lets EC2's machines of each type and zone come and go by the minute, for a while.
func (s *shore) tide(seed uint64, until time.Time) {
	for i, kind := range []string{"c5.large", "c5.xlarge"} {
		for j, zone := range []string{"us-east-2a", "us-east-2b"} {
			s.ec2.SetTide(kind, zone, func(now time.Time) int {
				if !now.Before(until) {
					return -1
				}
				return max(0, rand.New(rand.NewPCG(seed+uint64(10*i+j), uint64(now.Unix()/60))).IntN(8)-3)
			})
		}
	}
}

// calm holds that who had no capacity is not asked again before its time.
func (s *shore) calm(memory time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	short := 0
	for template, all := range s.asked {
		for i, a := range all {
			if !a.short {
				continue
			}
			short++
			for _, b := range all[i+1:] {
				if after := b.at.Sub(a.at); after > 0 && after < memory {
					s.t.Errorf("%s is asked again %s after it had no capacity", template, after)
				}
			}
		}
	}
	if short < 10 {
		s.t.Errorf("EC2 had too few machines only %d times: %v", short, s.asked)
	}
}

// TestRun_under_capacity_that_changes_by_the_minute are hours of jobs on machines
// that EC2 has in one minute and has not in the next.
func TestRun_under_capacity_that_changes_by_the_minute(t *testing.T) {
	all := nodeNames("q-dy-r-[1-4]", "q-dy-s-[1-4]", "q-dy-z-[1-4]")
	for seed, strategy := range []fleet.Strategy{fleet.AllOrNothing, fleet.GreedyAllOrNothing, fleet.BestEffort} {
		t.Run(string(strategy), func(t *testing.T) {
			var place *shore
			set := func(t *testing.T, s *scene) { place = ashore(t, s); s.config.Strategy = strategy }
			playIn(t, set, func(t *testing.T, s *scene) {
				r := rand.New(rand.NewPCG(uint64(seed), 5))
				place.tide(uint64(seed), time.Now().Add(4*time.Hour))
				var jobs []*slurmJob
				for range 25 {
					<-time.After(time.Duration(r.IntN(1000)) * time.Second)
					jobs = append(jobs, s.slurm.submit(1+r.IntN(6), time.Duration(r.IntN(900))*time.Second))
				}
				<-time.After(2 * time.Hour)
				place.calm(s.config.Limits.Short)
				s.allIsWell(t, jobs, nil, all)
			}, all...)
		})
	}
}
