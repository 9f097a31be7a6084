package formation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"context"
)

// stack is a stack and all that was said of it. Service.mu guards it.
type stack struct {
	name, id, account, region string

	status, reason         string
	created, updated, gone time.Time

	body string
	t    *template
	args given
	tags map[string]string
	caps []string
	role string

	resources map[string]*resource
	spare     []*resource // replaced or no longer declared: deleted at the end
	outputs   []fields
	imports   map[string]bool

	events []fields
	sets   []*changeSet

	protected bool
	failure   failurePolicy
	token     string // of the last operation
	running   *operation
	before    *past // what an update that failed goes back to
}

// failurePolicy says what follows a failure.
type failurePolicy struct {
	onFailure string // ROLLBACK, DELETE, DO_NOTHING
}

// past is what a stack was before an update.
type past struct {
	body      string
	t         *template
	args      given
	tags      map[string]string
	outputs   []fields
	resources map[string]*resource
}

// resource is a resource of a stack. A change makes a new value, so that an old one
// can be gone back to.
type resource struct {
	logical, kind, physical string

	status, reason string
	changed        time.Time
	declared       *declaration
	props          map[string]any // evaluated
	tried          map[string]any // of an update that failed
	tags           map[string]string
	att            map[string]any
	ref            string // what Ref gives, where it is not the physical ID
}

// operation is a creation, an update or a deletion that goes on.
type operation struct {
	cancel context.CancelFunc
	done   chan struct{}
}

const stackType = "AWS::CloudFormation::Stack"

// set changes the stack's status and says so in an event.
func (st *stack) set(now time.Time, status, reason string) {
	st.status, st.reason = status, reason
	st.event(now, fields{"LogicalResourceId": st.name, "PhysicalResourceId": st.id, "ResourceType": stackType,
		"ResourceStatus": status, "ResourceStatusReason": reason})
}

func (st *stack) event(now time.Time, f fields) {
	maps.Copy(f, fields{"EventId": uuid(), "StackId": st.id, "StackName": st.name, "Timestamp": now, "ClientRequestToken": st.token})
	st.events = append(st.events, f)
}

// mark changes a resource's status and says so in an event.
func (st *stack) mark(now time.Time, r *resource, status, reason string) {
	r.status, r.reason, r.changed = status, reason, now
	shown := canon(r.props)
	for _, secret := range st.t.secrets(st.args) {
		shown = strings.ReplaceAll(shown, secret, "****")
	}
	id := r.logical + "-" + status + "-" + now.UTC().Format("2006-01-02T15:04:05.000Z")
	st.event(now, fields{"LogicalResourceId": r.logical, "PhysicalResourceId": r.physical, "ResourceType": r.kind,
		"ResourceStatus": status, "ResourceStatusReason": reason, "ResourceProperties": shown})
	st.events[len(st.events)-1]["EventId"] = id
}

// remember keeps what the stack is, to go back to it.
func (st *stack) remember() *past {
	p := &past{body: st.body, t: st.t, args: st.args, tags: st.tags, outputs: st.outputs, resources: map[string]*resource{}}
	for id, r := range st.resources {
		copied := *r
		p.resources[id] = &copied
	}
	return p
}

// busy says that an operation is going on.
func (st *stack) busy() bool {
	return strings.HasSuffix(st.status, "_IN_PROGRESS") && st.status != "REVIEW_IN_PROGRESS"
}

// failedOnes are the logical IDs of resources with the status, sorted.
func (st *stack) failedOnes(status string) []string {
	var out []string
	for id, r := range st.resources {
		if r.status == status {
			out = append(out, id)
		}
	}
	for _, r := range st.spare {
		if r.status == status && !slices.Contains(out, r.logical) {
			out = append(out, r.logical)
		}
	}
	slices.Sort(out)
	return out
}

// failed says in CloudFormation's words which resources failed.
func (st *stack) failed(verbs ...string) string {
	var out []string
	for _, v := range verbs {
		if ids := st.failedOnes(strings.ToUpper(v) + "_FAILED"); len(ids) > 0 {
			out = append(out, fmt.Sprintf("The following resource(s) failed to %s: [%s].", v, strings.Join(ids, ", ")))
		}
	}
	return strings.Join(out, " ")
}

// find finds a stack by name or ID. One that is deleted is found by its ID only.
func (s *Service) find(name string) *stack {
	for _, st := range slices.Backward(s.stacks) {
		if st.id == name || st.name == name && st.status != "DELETE_COMPLETE" {
			return st
		}
	}
	return nil
}

// start begins an operation on a stack. Service.mu is held.
func (s *Service) start(st *stack, do func(ctx context.Context, op *operation)) {
	ctx, cancel := context.WithCancel(s.ctx)
	op := &operation{cancel: cancel, done: make(chan struct{})}
	st.running = op
	s.work.Go(func() {
		defer close(op.done)
		defer cancel()
		do(ctx, op)
	})
}

// locked runs f while nothing else reads or changes stacks.
func (s *Service) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// sleep waits on the double's clock.
func (s *Service) sleep(ctx context.Context, d time.Duration) error {
	due := s.clock.Now().Add(d)
	return s.wait(ctx, func() (bool, error) { return !s.clock.Now().Before(due), nil })
}

// tick is how often the world is looked at, in real time.
const tick = 2 * time.Millisecond

// wait looks until something is so.
func (s *Service) wait(ctx context.Context, so func() (bool, error)) error {
	for pause := tick; ; pause = min(2*pause, 20*tick) {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
