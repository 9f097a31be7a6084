// Package formation is CloudFormation's state machine in the double of AWS: stacks
// whose resources are made one after the other, by requests to the double's own
// endpoint, with an event for each, with failures, rollbacks, change sets, updates
// and deletions that fail. Templates are JSON.
//
//	create   REVIEW_IN_PROGRESS -> CREATE_IN_PROGRESS -> CREATE_COMPLETE
//	                               | failure -> ROLLBACK_IN_PROGRESS -> ROLLBACK_COMPLETE | ROLLBACK_FAILED
//	                               '- kept    -> CREATE_FAILED
//	update   UPDATE_IN_PROGRESS -> UPDATE_COMPLETE_CLEANUP_IN_PROGRESS -> UPDATE_COMPLETE
//	         | failure -> UPDATE_ROLLBACK_IN_PROGRESS -> UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS
//	         |            -> UPDATE_ROLLBACK_COMPLETE, or UPDATE_ROLLBACK_FAILED
//	         '- kept    -> UPDATE_FAILED
//	delete   DELETE_IN_PROGRESS -> DELETE_COMPLETE | DELETE_FAILED
//
// Texts of errors are AWS's where they are known from its documentation or from
// users' reports; "our words" marks the others.
package formation

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Service is CloudFormation.
type Service struct {
	clock *wire.Clock
	aws   *clients

	ctx  context.Context // ends when the service is closed
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex // guards what follows and all that hangs on it
	stacks []*stack
	tokens map[string]string // client tokens of creations: the stack's ID
	faults faults
}

var (
	_ wire.Service = (*Service)(nil)
	_ wire.Tagged  = (*Service)(nil)
)

// New returns a CloudFormation that makes resources by the given configuration's
// endpoint. It lives until Close.
func New(ctx context.Context, cfg aws.Config, clock *wire.Clock) *Service {
	ctx, stop := context.WithCancel(ctx)
	return &Service{clock: clock, aws: newClients(cfg), ctx: ctx, stop: stop,
		tokens: map[string]string{}, faults: faults{}}
}

// Close ends all operations where they are and waits for them.
func (s *Service) Close() {
	s.stop()
	s.work.Wait()
}

// Answer answers a call to CloudFormation.
func (s *Service) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	act, ok := actions[c.Action]
	if !ok {
		return nil, false
	}
	result, err := act(s, ctx, request{c})
	if err != nil {
		return c.Fault(fault(err)), true
	}
	return wire.XML(tree{c.Action + "Response", fields{
		c.Action + "Result": result,
		"ResponseMetadata":  fields{"RequestId": uuid()},
	}}), true
}

type action func(*Service, context.Context, request) (fields, error)

var actions = map[string]action{
	"ContinueUpdateRollback":      onStack(noStack, (*Service).continueRollback),
	"CreateChangeSet":             (*Service).createChangeSet,
	"CreateStack":                 (*Service).createStack,
	"DeleteChangeSet":             (*Service).deleteChangeSet,
	"DeleteStack":                 (*Service).deleteStack,
	"DescribeChangeSet":           (*Service).describeChangeSet,
	"DescribeStackEvents":         onStack(noStack, (*Service).describeEvents),
	"DescribeStacks":              (*Service).describeStacks,
	"ExecuteChangeSet":            (*Service).executeChangeSet,
	"GetTemplate":                 onStack(noWithID, (*Service).getTemplate),
	"ListStackResources":          onStack(noWithID, (*Service).listResources),
	"UpdateStack":                 (*Service).updateStack,
	"UpdateTerminationProtection": onStack(noStack, (*Service).protect),
}

// onStack is an action on a stack that there is. The text is for one that there is not.
func onStack(missing string, do func(*Service, *stack, request) (fields, error)) action {
	return func(s *Service, _ context.Context, r request) (fields, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		name := r.text("StackName")
		if st := s.find(name); st != nil {
			return do(s, st, r)
		}
		return nil, invalid(missing, name)
	}
}

const (
	noStack  = "Stack [%s] does not exist"
	noWithID = "Stack with id %s does not exist"
)

// invalid is the error that CloudFormation answers nearly everything with.
func invalid(format string, args ...any) error {
	return wire.Errorf("ValidationError", format, args...)
}

// uuid is a random one.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
