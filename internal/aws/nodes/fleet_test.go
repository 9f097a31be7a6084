package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
	"github.com/muster-hpc/muster/internal/slurm"
)

// config is a fleet with a queue q of three resources: r and s of one type, f from
// which EC2 may choose.
func (c *cloud) config(t *testing.T) nodes.Config {
	t.Helper()
	one := nodes.Resource{Resource: slurm.Resource{Queue: "q"}, Types: []string{"c5.large"}, Subnets: []string{"subnet-1"}, Capacity: "ONDEMAND", Strategy: "lowest-price", Static: 2, Dynamic: 3000}
	r, s, f := one, one, one
	r.Name, r.Template = "r", "c-q-r"
	s.Name, s.Template, s.Reservation = "s", "c-q-s", "cr-1"
	f.Name, f.Template, f.Types = "f", "c-q-f", []string{"c5.large", "c5a.large"}
	return nodes.Config{
		Cluster: "c", Resources: []nodes.Resource{r, s, f}, Journal: filepath.Join(t.TempDir(), "launches"),
		AWS: sdk.Config{
			Region: "us-east-2", BaseEndpoint: sdk.String(c.url),
			Credentials: sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
				return sdk.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
			}),
		},
		Log:    slog.New(slog.NewTextHandler(io.Discard, nil)),
		Limits: nodes.Limits{Attempts: 3, Pause: time.Millisecond, PauseMost: 4 * time.Millisecond},
	}
}

func open(t *testing.T, c nodes.Config) *nodes.Fleet {
	t.Helper()
	f, err := nodes.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // the test may have closed it
	return f
}

func nodeNames(kind string, from, to int) []string {
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf("q-%s-%d", kind, n))
	}
	return all
}

func observe(t *testing.T, f *nodes.Fleet) map[string]provider.Instance {
	t.Helper()
	all, err := f.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]provider.Instance{}
	for _, i := range all {
		if _, twice := of[i.Node]; twice {
			t.Fatalf("node %q has two instances", i.Node)
		}
		of[i.Node] = i
	}
	return of
}

// launchAll launches nodes one by one or all or nothing, and wants no failure.
func launchAll(t *testing.T, f *nodes.Fleet, whole bool, names ...string) {
	t.Helper()
	orders := providertest.Orders(names...)
	if whole {
		orders = []provider.Order{providertest.Whole(names...)}
	}
	if failed := f.Launch(t.Context(), orders, nil); len(failed) > 0 {
		t.Fatalf("failed: %v", failed)
	}
}

func TestSuite(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Place {
		c := newCloud(t)
		config := c.config(t)
		watched := func(t *testing.T) provider.Provider {
			f := open(t, config)
			look(t, f)
			return f
		}
		return providertest.Place{
			Provider: watched(t), Nodes: []string{"q-st-r-1", "q-dy-r-1", "q-dy-f-1"},
			Kill: func(t *testing.T, node string) {
				for _, i := range c.living() {
					if c.node(i) == node {
						c.kill(i.id)
						return
					}
				}
				t.Errorf("%s has no instance", node)
			},
			Again: watched,
		}
	})
}

// A node's name can be read in two ways where a queue's name has what marks nodes: the
// cluster has one of them.
func TestLaunch_of_a_queue_named_as_a_static_node(t *testing.T) {
	c := newCloud(t)
	config := c.config(t)
	mine, other := config.Resources[0], config.Resources[0]
	mine.Queue, mine.Name, mine.Template = "a-st-b", "c", "c-a-st-b-c"
	other.Queue, other.Name, other.Template, other.Static = "a", "b-dy-c", "c-a-b-dy-c", 0
	config.Resources = []nodes.Resource{other, mine}
	launchAll(t, open(t, config), true, "a-st-b-dy-c-1", "a-st-b-st-c-1")
	for _, i := range c.living() {
		if i.template != mine.Template {
			t.Errorf("%s was launched from %s", c.node(i), i.template)
		}
	}
}

// look observes again and again, as a controller does.
func look(t *testing.T, f *nodes.Fleet) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, _ = f.Observe(ctx) // the test observes, too
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

func cause(t *testing.T, err error) provider.Cause {
	t.Helper()
	refused, ok := errors.AsType[*provider.LaunchError](err)
	if !ok {
		t.Fatalf("%v (%T) is no LaunchError", err, err)
	}
	return refused.Cause
}

func TestBestEffortGetsWhatThereIs(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	c.capacity["c-q-r"] = 3
	failed := f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 5)...), nil)
	for _, n := range []string{"q-dy-r-4", "q-dy-r-5"} {
		if cause(t, failed[n]) != provider.Capacity {
			t.Errorf("%s: %v", n, failed[n])
		}
	}
	if len(failed) != 2 || len(observe(t, f)) != 3 || c.called("RunInstances") != 1 {
		t.Errorf("failed: %v, %d calls", failed, c.called("RunInstances"))
	}
}

func TestWholeOrdersLaunchNothingThatHasToBeEnded(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	c.capacity["c-q-r"] = 700
	failed := f.Launch(t.Context(), []provider.Order{providertest.Whole(nodeNames("dy-r", 1, 1000)...)}, nil)
	if len(failed) != 1000 || cause(t, failed["q-dy-r-1"]) != provider.Capacity || len(c.instances) != 0 {
		t.Errorf("%d failed (%v), %d instances were started", len(failed), failed["q-dy-r-1"], len(c.instances))
	}
	if c.called("RunInstances") != 1 || c.called("TerminateInstances") != 0 {
		t.Errorf("calls: %v", c.calls)
	}
}

// Many jobs go into few calls. If EC2 has not enough for all of them, each is asked
// for alone.
func TestManyJobs(t *testing.T) {
	for name, row := range map[string]struct{ room, calls, failed int }{
		"room_for_all":  {10000, 5, 0},
		"room_for_some": {250, 5 + 40, 760}, // one part of ten jobs fits, two more jobs alone
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			f := open(t, c.config(t))
			c.capacity["c-q-r"] = row.room
			var jobs []provider.Order
			for j := range 50 {
				jobs = append(jobs, providertest.Whole(nodeNames("dy-r", 20*j+1, 20*j+20)...))
			}
			failed := f.Launch(t.Context(), jobs, nil)
			if len(failed) != row.failed || c.called("RunInstances") != row.calls {
				t.Errorf("%d nodes failed, want %d; %d calls, want %d", len(failed), row.failed, c.called("RunInstances"), row.calls)
			}
			for _, j := range jobs {
				bad := 0
				for _, n := range j.Nodes {
					if failed[n] != nil {
						bad++
					}
				}
				if bad != 0 && bad != len(j.Nodes) {
					t.Errorf("%d of %d nodes of a job failed", bad, len(j.Nodes))
				}
			}
		})
	}
}

func TestOrderThatDoesNotFitInOneCall(t *testing.T) {
	order := func(kind string) []provider.Order {
		return []provider.Order{providertest.Whole(nodeNames(kind, 1, 1500)...)}
	}
	c := newCloud(t)
	f := open(t, c.config(t))
	if failed := f.Launch(t.Context(), order("dy-r"), nil); cause(t, failed["q-dy-r-1"]) != provider.Configuration {
		t.Errorf("without a reservation: %v", failed["q-dy-r-1"])
	}
	c.free["cr-1"] = 1499
	if failed := f.Launch(t.Context(), order("dy-s"), nil); cause(t, failed["q-dy-s-1"]) != provider.Capacity {
		t.Errorf("with too small a reservation: %v", failed["q-dy-s-1"])
	}
	if len(c.instances) > 0 {
		t.Fatalf("%d instances were started", len(c.instances))
	}
	c.free["cr-1"] = 1500
	if failed := f.Launch(t.Context(), order("dy-s"), nil); len(failed) > 0 || len(c.living()) != 1500 {
		t.Errorf("with a reservation: %d failed, %d live", len(failed), len(c.living()))
	}
	// Somebody else takes what was free a moment ago.
	if err := f.Terminate(t.Context(), nodeNames("dy-s", 1, 1500)); err != nil {
		t.Fatal(err)
	}
	c.capacity["c-q-s"] = 1200
	if failed := f.Launch(t.Context(), order("dy-s"), nil); len(failed) != 1500 || len(c.living()) != 0 {
		t.Errorf("with a reservation that others use: %d failed, %d live", len(failed), len(c.living()))
	}
	mixed := []provider.Order{providertest.Whole("q-dy-r-1", "q-dy-f-1")}
	if failed := f.Launch(t.Context(), mixed, nil); cause(t, failed["q-dy-f-1"]) != provider.Configuration {
		t.Errorf("over two resources: %v", failed)
	}
}

// A refusal for lack of capacity has status 500 and is not asked again in place;
// throttling and hiccups are.
func TestRetries(t *testing.T) {
	for _, row := range []struct {
		name    string
		refusal refusal
		times   int
		calls   int
		cause   provider.Cause // empty is that the launch succeeds
	}{
		{"no_capacity", refusal{500, "InsufficientInstanceCapacity", "none"}, 9, 1, provider.Capacity},
		{"reservation_full", refusal{400, "ReservationCapacityExceeded", "none"}, 9, 1, provider.Capacity},
		{"block_not_begun", refusal{400, "InvalidCapacityReservationState.PendingActivation", "not yet"}, 9, 1, provider.Capacity},
		{"quota", refusal{400, "VcpuLimitExceeded", "too many"}, 9, 1, provider.Limit},
		{"not_allowed", refusal{403, "UnauthorizedOperation", "no"}, 9, 1, provider.Permission},
		{"no_template", refusal{400, "InvalidLaunchTemplateName.NotFoundException", "none"}, 9, 1, provider.Configuration},
		{"throttled_twice", refusal{503, "RequestLimitExceeded", "slow down"}, 2, 3, ""},
		{"throttled_for_long", refusal{503, "RequestLimitExceeded", "slow down"}, 9, 3, provider.Throttled},
		{"hiccup", refusal{500, "InternalError", "sorry"}, 2, 3, ""},
		{"out_of_order", refusal{503, "Unavailable", "sorry"}, 9, 3, provider.Unknown},
		{"unknown_500", refusal{500, "SomethingNew", "?"}, 9, 3, provider.Unknown},
		{"another_request", refusal{400, "IdempotentParameterMismatch", "?"}, 9, 1, provider.Unknown},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newCloud(t)
			f := open(t, c.config(t))
			c.refuse["RunInstances"] = slices.Repeat([]refusal{row.refusal}, row.times)
			failed := f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 2)...), nil)
			switch err := failed["q-dy-r-1"]; {
			case row.cause == "" && err != nil:
				t.Errorf("failed: %v", err)
			case row.cause != "":
				if got := cause(t, err); got != row.cause {
					t.Errorf("%v is %s, want %s", err, got, row.cause)
				}
			}
			if got := c.called("RunInstances"); got != row.calls {
				t.Errorf("%d calls, want %d", got, row.calls)
			}
		})
	}
}

func TestFleetRefusal(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	c.capacity["c-q-f"] = 0
	failed := f.Launch(t.Context(), []provider.Order{providertest.Whole(nodeNames("dy-f", 1, 3)...)}, nil)
	refused, ok := errors.AsType[*provider.LaunchError](failed["q-dy-f-3"])
	if len(failed) != 3 || !ok || refused.Cause != provider.Capacity || refused.Code != "InsufficientInstanceCapacity" {
		t.Errorf("failed: %v", failed)
	}
}

func TestStartedTellsAddresses(t *testing.T) {
	c := newCloud(t)
	c.blind = 1 // a fleet's addresses are seen at the second look
	f := open(t, c.config(t))
	told := make(chan provider.Instance, 100)
	orders := providertest.Orders(append(nodeNames("dy-r", 1, 3), nodeNames("dy-f", 1, 3)...)...)
	failed := f.Launch(t.Context(), orders, func(all []provider.Instance) {
		for _, i := range all {
			told <- i
		}
	})
	close(told)
	addressed := map[string]bool{}
	for i := range told {
		if i.Address.IsValid() {
			addressed[i.Node] = true
		}
	}
	if len(failed) > 0 || len(addressed) != 6 {
		t.Errorf("failed: %v, addresses were told of %v", failed, addressed)
	}
}

// Jobs that share a node get one machine for it.
func TestJobsThatShareANode(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	failed := f.Launch(t.Context(), []provider.Order{
		providertest.Whole(nodeNames("dy-r", 1, 3)...), providertest.Whole(nodeNames("dy-r", 3, 5)...), providertest.Orders(nodeNames("dy-r", 5, 6)...)[0],
		providertest.Whole(append(nodeNames("dy-r", 7, 8), "q-dy-x-1")...),
	}, nil)
	if len(failed) != 3 || cause(t, failed["q-dy-r-7"]) != provider.Configuration {
		t.Errorf("failed: %v", failed)
	}
	exactly(t, c, nodeNames("dy-r", 1, 6))
}

// Who waits for another's launch can give up.
func TestWaitingForALaunchEnds(t *testing.T) {
	c := newCloud(t)
	f := open(t, c.config(t))
	launching, give := make(chan struct{}), make(chan struct{})
	c.breaks(func(when, action string) bool {
		if when == "before" && action == "RunInstances" {
			close(launching)
			<-give
		}
		return false
	})
	done := make(chan map[string]error)
	go func() { done <- f.Launch(t.Context(), providertest.Orders(nodeNames("dy-r", 1, 2)...), nil) }()
	<-launching
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	failed := f.Launch(ctx, providertest.Orders(nodeNames("dy-r", 2, 3)...), nil)
	if len(failed) != 2 || !errors.Is(failed["q-dy-r-2"], context.DeadlineExceeded) {
		t.Errorf("failed: %v", failed)
	}
	if err := f.Terminate(ctx, nodeNames("dy-r", 1, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an end in the middle of a launch: %v", err)
	}
	close(give)
	if failed := <-done; len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
	exactly(t, c, nodeNames("dy-r", 1, 2))
}
