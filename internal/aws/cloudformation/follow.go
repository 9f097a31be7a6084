package cloudformation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Event is something that happened to a resource of a stack.
type Event struct {
	At    time.Time `json:"at"`
	Stack string    `json:"stack"`
	// Resource is the template's name, empty for the stack itself.
	Resource string `json:"resource,omitempty"`
	Type     string `json:"type"`
	ID       string `json:"id,omitempty"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`

	id string
}

// Failed says that the event is a failure of its own, not the consequence of
// another's.
func (e Event) Failed() bool {
	return strings.HasSuffix(e.Status, "_FAILED") && e.Resource != "" && !strings.Contains(e.Reason, " cancelled")
}

// Matters says that the event is worth a line: what begins is not, unless it may
// take long.
func (e Event) Matters() bool {
	return e.Resource != "" && (strings.HasSuffix(e.Status, "_COMPLETE") || strings.HasSuffix(e.Status, "_FAILED"))
}

// operationLimit is how long an operation of CloudFormation may take: a file system
// that is restored takes hours.
const operationLimit = 6 * time.Hour

// operation is one that is followed: what came before mark is another's.
type operation struct {
	stack, mark string
	seen        map[string]bool
	events      []Event
}

// follow waits until the stack's operation has ended. Where it failed, the error
// says in words what failed first.
func (d *Driver) follow(ctx context.Context, o *operation) (State, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, operationLimit, fmt.Errorf("the operation did not end within %s", operationLimit))
	defer cancel()
	o.seen = map[string]bool{}
	began, pace := time.Now(), newPace()
	for {
		state, err := d.Describe(ctx, o.stack)
		if err != nil {
			return state, err
		}
		ended, err := d.tell(ctx, o)
		if err != nil {
			return state, err
		}
		if ended && !state.InProgress() && !state.review() {
			return state, nil
		}
		if d.Waiting != nil {
			d.Waiting(state.Name, state.Status, time.Since(began))
		}
		if err := pace.wait(ctx); err != nil {
			return state, fmt.Errorf("wait for stack %s (%s): %w", state.Name, state.Status, err)
		}
	}
}

// tell tells of new events and reports whether one says that the operation ended.
func (d *Driver) tell(ctx context.Context, o *operation) (ended bool, err error) {
	news, err := d.events(ctx, o)
	if err != nil {
		return false, err
	}
	for _, e := range news {
		if !o.seen[e.id] {
			o.seen[e.id] = true
			o.events = append(o.events, e)
			if d.Tell != nil {
				d.Tell(e)
			}
		}
	}
	return slices.ContainsFunc(o.events, func(e Event) bool { return e.Resource == "" && !strings.HasSuffix(e.Status, "_IN_PROGRESS") }), nil
}

// events are those of the operation, the oldest first: all behind the mark, or
// without one all since the stack's last operation began.
func (d *Driver) events(ctx context.Context, o *operation) ([]Event, error) {
	var all []Event
	pages := cloudformation.NewDescribeStackEventsPaginator(d.Client, &cloudformation.DescribeStackEventsInput{StackName: &o.stack})
read:
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the events of stack %s: %w", o.stack, cause(err))
		}
		for _, x := range page.StackEvents {
			e := eventOf(x)
			if e.id == o.mark {
				break read
			}
			all = append(all, e)
			if o.mark == "" && e.begins() {
				break read
			}
		}
	}
	slices.Reverse(all)
	return all, nil
}

// begins says that an operation begins that was asked for: a rollback is a
// part of the one before it.
func (e Event) begins() bool {
	if e.Resource != "" {
		return false
	}
	switch types.ResourceStatus(e.Status) {
	case types.ResourceStatusCreateInProgress, types.ResourceStatusUpdateInProgress, types.ResourceStatusDeleteInProgress, types.ResourceStatusImportInProgress:
		return true
	}
	return false
}

func eventOf(x types.StackEvent) Event {
	e := Event{
		At: aws.ToTime(x.Timestamp), Stack: aws.ToString(x.StackName), Resource: aws.ToString(x.LogicalResourceId), Type: aws.ToString(x.ResourceType),
		ID: aws.ToString(x.PhysicalResourceId), Status: string(x.ResourceStatus), Reason: plain(aws.ToString(x.ResourceStatusReason)), id: aws.ToString(x.EventId),
	}
	if e.Type == "AWS::CloudFormation::Stack" && e.ID == aws.ToString(x.StackId) {
		e.Resource = ""
	}
	return e
}

// newest is the mark behind which a new operation's events come.
func (d *Driver) newest(ctx context.Context, stack string) (string, error) {
	out, err := d.Client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		return "", fmt.Errorf("read the events of stack %s: %w", stack, cause(err))
	}
	if len(out.StackEvents) == 0 {
		return "", nil
	}
	return aws.ToString(out.StackEvents[0].EventId), nil
}

// Events are those of the stack's last operation, the oldest first.
func (d *Driver) Events(ctx context.Context, stack string) ([]Event, error) {
	all, err := d.events(ctx, &operation{stack: stack})
	if missing(err) {
		return nil, fmt.Errorf("read the events of stack %s: %w", stack, ErrNoStack)
	}
	return all, err
}

// pace is how long to wait before the next look: little at first, then longer, so
// that short operations are not waited for and long ones cost few calls.
type pace struct{ next time.Duration }

const (
	firstLook = 200 * time.Millisecond
	lastLook  = 8 * time.Second
)

func newPace() *pace { return &pace{next: firstLook} }

// wait waits for the next look. It fails when ctx ends.
func (p *pace) wait(ctx context.Context) error {
	next := p.next
	p.next = min(p.next*5/4, lastLook)
	return pause.For(ctx, next)
}
