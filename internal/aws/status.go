package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/status"
	"github.com/muster-hpc/muster/internal/store"
)

// Status is what there is of a cluster on AWS. Its JSON only ever gets more fields.
type Status struct {
	Region  string        `json:"region"`
	Account string        `json:"account,omitempty"`
	Stacks  []StackStatus `json:"stacks"`
	// Events are those that matter of operations that go on or failed.
	Events []cloudformation.Event `json:"events,omitempty"`
	// Head is what the head node said last, HeadAgeSeconds how long ago.
	Head           *manifest.HeadStatus `json:"head,omitempty"`
	HeadAgeSeconds float64              `json:"head_age_seconds,omitempty"`
	Instances      []InstanceGroup      `json:"instances,omitempty"`
	// USDPerHour is what the instances cost an hour, as far as their prices are known.
	USDPerHour float64 `json:"instances_usd_per_hour"`
	// Adopted is there for a cluster that ParallelCluster made.
	Adopted *Adopted `json:"parallelcluster,omitempty"`

	// State is creating, changing, up, starting, failed, removing, stopped or half made.
	State string `json:"-"`
	// Look says what needs a look, Blind what did not answer.
	Look  []string `json:"-"`
	Blind []string `json:"-"`
}

// StackStatus is a stack.
type StackStatus struct {
	Name    string    `json:"name"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Changed time.Time `json:"changed,omitzero"`
}

// InstanceGroup are instances of one kind.
type InstanceGroup struct {
	Role         string `json:"role"`
	Queue        string `json:"queue,omitempty"`
	InstanceType string `json:"instance_type"`
	State        string `json:"state"`
	Count        int    `json:"count"`
	// USDPerHour is for all of them, if Known: on demand, in us-east-1.
	USDPerHour float64 `json:"usd_per_hour,omitempty"`
	Known      bool    `json:"known"`
}

// clusters are the names of the clusters of a region, by their stacks' tags.
func clusters(ctx context.Context, a *api.Account) ([]string, error) {
	all, err := cloudformation.New(a.Config()).List(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		if name := s.Tags[clusterTag]; name != "" && s.Status != "DELETE_COMPLETE" && slices.Contains(stackNames(name), s.Name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// StatusBy looks at a cluster by its record: muster's own or ParallelCluster's.
func StatusBy(ctx context.Context, a *api.Account, r Record, now time.Time) Status {
	look := func() Status { return StatusOf(ctx, a, r.Name, now) }
	if r.Adopted != nil {
		look = func() Status { return theirStatus(ctx, a, r) }
	}
	s := look()
	s.Account = r.Account
	if s.State == "gone" && len(s.Blind) == 0 && r.Account != "" {
		s.otherAccount(ctx, a)
	}
	return s
}

// otherAccount says that nothing was seen because these are credentials of another
// account.
func (s *Status) otherAccount(ctx context.Context, a *api.Account) {
	who, err := a.Identity(ctx)
	switch {
	case err != nil:
		s.Blind = append(s.Blind, err.Error())
	case who.Account != s.Account:
		s.State = "unknown"
		s.Blind = append(s.Blind, fmt.Sprintf("it is in account %s, and these are credentials of account %s; AWS_PROFILE chooses others", s.Account, who.Account))
	}
}

// StatusOf looks at a cluster of muster's. What does not answer is in Blind; now is the
// time of day.
func StatusOf(ctx context.Context, a *api.Account, name string, now time.Time) Status {
	s := Status{Region: a.Region, State: "gone"}
	driver := cloudformation.New(a.Config())
	stacks, err := look(ctx, driver, name)
	if err != nil {
		s.Blind = append(s.Blind, err.Error())
		return s
	}
	for _, stack := range stackNames(name) {
		if state, ok := stacks[stack]; ok {
			s.stack(ctx, driver, state)
		}
	}
	s.State = stateOf(name, stacks)
	s.head(ctx, a, name, stacks.bucket(name), now)
	s.count(a.Instances(ctx, name))
	s.judge(name)
	return s
}

func (s *Status) stack(ctx context.Context, driver *cloudformation.Driver, state cloudformation.State) {
	s.Stacks = append(s.Stacks, StackStatus{Name: state.Name, Status: state.Status, Reason: state.Reason, Changed: state.Changed})
	if state.Good() || state.Status == "REVIEW_IN_PROGRESS" {
		return
	}
	events, err := driver.Events(ctx, state.ID)
	if err != nil {
		s.Blind = append(s.Blind, err.Error())
		return
	}
	for _, e := range events {
		if e.Failed() || telling(e) != "" || state.InProgress() && unfinished(e, events) {
			s.Events = append(s.Events, e)
		}
	}
}

// unfinished says that a resource has begun and not ended.
func unfinished(e cloudformation.Event, events []cloudformation.Event) bool {
	if e.Resource == "" || !strings.HasSuffix(e.Status, "_IN_PROGRESS") {
		return false
	}
	last := e
	for _, other := range events {
		if other.Resource == e.Resource {
			last = other
		}
	}
	return last == e
}

// inMotion is what goes on with stacks or went wrong, in a word; it is empty if
// nothing does.
func inMotion(stacks found) string {
	states := map[string]bool{}
	for _, s := range stacks {
		switch {
		case strings.HasPrefix(s.Status, "DELETE"):
			states["removing"] = true
		case s.InProgress() && strings.HasPrefix(s.Status, "CREATE"):
			states["creating"] = true
		case s.InProgress() && strings.HasPrefix(s.Status, "UPDATE"):
			states["changing"] = true
		case !s.Good() && s.Status != "REVIEW_IN_PROGRESS":
			states["failed"] = true
		}
	}
	for _, word := range []string{"failed", "removing", "creating", "changing"} {
		if states[word] {
			return word
		}
	}
	return ""
}

// stateOf is a cluster's state in a word.
func stateOf(name string, stacks found) string {
	if word := inMotion(stacks); word != "" {
		return word
	}
	switch {
	case len(stacks) == 0:
		return "gone"
	case stacks[name].Good():
		return "starting"
	case stacks[storageStack(name)].Good() || stacks[baseStack(name)].Good():
		return "half made"
	}
	return "gone"
}

// freshness is how old the head node's word may be.
const freshness = time.Minute

func (s *Status) head(ctx context.Context, a *api.Account, name, bucket string, now time.Time) {
	if bucket == "" || s.State == "half made" {
		return
	}
	b, err := openBucket(ctx, a, bucket)
	if err != nil {
		s.Blind = append(s.Blind, err.Error())
		return
	}
	var head manifest.HeadStatus
	err = readJSON(ctx, b, manifest.HeadKey(name), &head)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if s.State == "starting" {
			s.Look = append(s.Look, "the head node has not said a word yet")
		}
		return
	case err != nil:
		s.Blind = append(s.Blind, err.Error())
		return
	}
	s.Head, s.HeadAgeSeconds = &head, now.Sub(head.At).Seconds()
	s.hear(head, now)
}

// hear judges what the head node said.
func (s *Status) hear(head manifest.HeadStatus, now time.Time) {
	age := now.Sub(head.At)
	switch {
	case age > freshness:
		s.Blind = append(s.Blind, fmt.Sprintf("the head node %s has said nothing since %s", head.InstanceID, head.At.Format(time.RFC3339)))
		return
	case head.Phase == manifest.Failed:
		s.State = "failed"
		s.Look = append(s.Look, "the head node did not come up: "+head.Error)
	case head.Phase == manifest.Ready && s.State == "starting":
		s.State = "up"
	}
	if c := head.Cluster; c != nil {
		s.Look = append(s.Look, c.Look...)
		for _, service := range c.Services {
			if !service.Ready {
				s.Look = append(s.Look, "service "+service.Name+" is not ready")
			}
		}
		for _, e := range c.Exports {
			s.Look = append(s.Look, troubleOf(e)...)
		}
		if c.Fleet != "" && c.Fleet != "running" {
			s.Look = append(s.Look, strings.TrimSuffix("the fleet is "+c.Fleet+": "+c.Why, ": "))
		}
	}
}

// count groups instances and adds up what they cost.
func (s *Status) count(all []api.Instance, err error) {
	if err != nil {
		s.Blind = append(s.Blind, err.Error())
		return
	}
	groups := map[InstanceGroup]int{}
	for _, i := range all {
		groups[InstanceGroup{Role: i.Role, Queue: i.Queue, InstanceType: i.Type, State: i.State}]++
	}
	for g, n := range groups {
		g.Count = n
		if price, ok := catalog.OnDemand(g.InstanceType); ok {
			g.Known = true
			if g.State == "pending" || g.State == "running" {
				g.USDPerHour = price.USD * float64(n)
			}
		}
		s.USDPerHour += g.USDPerHour
		s.Instances = append(s.Instances, g)
	}
	slices.SortStableFunc(s.Instances, func(x, y InstanceGroup) int {
		return cmp.Or(-cmp.Compare(x.Role, y.Role), cmp.Compare(x.Queue, y.Queue), cmp.Compare(x.InstanceType, y.InstanceType), cmp.Compare(x.State, y.State))
	})
}

// judge says what to do about a cluster that is not up.
func (s *Status) judge(name string) {
	switch s.State {
	case "failed":
		s.Look = append(s.Look, "`muster up` goes on or begins again, `muster down --cluster "+name+"` takes away what there is")
	case "half made":
		s.Look = append(s.Look, "it has no head node: `muster up` makes one; `muster down --cluster "+name+"` says what is left and costs, with --delete-data it deletes the data, too")
	case "removing", "creating", "changing", "starting":
		s.Look = append(s.Look, "it is "+s.State)
	}
}

// inRegion are the clusters of the region of the environment.
func inRegion(ctx context.Context) ([]Record, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listWait, fmt.Errorf("no answer within %s", listWait))
	defer cancel()
	acc, err := api.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	names, err := clusters(ctx, acc)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, name := range names {
		all = append(all, Record{Name: name, Region: acc.Region})
	}
	return all, nil
}

// How long a look at a cluster, and the list of a region's, may take.
const (
	lookWait = 30 * time.Second
	listWait = 10 * time.Second
)

// look looks at a cluster, of which nothing is known if its record cannot be read.
func (k known) look(ctx context.Context) status.Cluster {
	if k.unread == nil {
		return Look(ctx, k.Record)
	}
	s := status.Cluster{Name: k.Name, Place: "aws", State: "unknown"}
	s.Unseen("its record cannot be read: %v", k.unread)
	return s
}

// Look looks at a cluster by its record. It waits long for no answer.
func Look(ctx context.Context, r Record) status.Cluster {
	ctx, cancel := context.WithTimeoutCause(ctx, lookWait, fmt.Errorf("no answer within %s", lookWait))
	defer cancel()
	s := status.Cluster{Name: r.Name, Place: "aws", State: "unknown", File: r.File}
	acc, err := api.Open(ctx, r.Region)
	if err != nil {
		s.Unseen("%v", err)
		return s
	}
	own := StatusBy(ctx, acc, r, time.Now())
	s.Own, s.State, s.Look, s.Blind = &own, own.State, own.Look, own.Blind
	if s.State == "gone" && len(s.Blind) == 0 {
		forget := "muster down --cluster " + r.Name
		if r.Adopted != nil {
			forget = "muster import --forget " + r.Name
		}
		s.Needs("nothing of it is left in %s but this machine's record; `%s` forgets it", r.Region, forget)
	}
	s.Judge()
	return s
}
