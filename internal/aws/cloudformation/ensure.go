package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Ensure makes a stack what it is to be and returns what it is then. It may be
// called at any time, also while another operation goes on: that one is waited for.
// An *Overtaken says that the stack was changed by another caller meanwhile.
// What was changed, if anything, is in the proposal.
func (d *Driver) Ensure(ctx context.Context, s Stack) (State, Proposal, error) {
	if err := d.Settle(ctx, s.Name); err != nil {
		return State{Name: s.Name}, Proposal{}, err
	}
	state, p, err := d.change(ctx, s)
	if _, lost := errors.AsType[*Overtaken](err); lost {
		return d.behind(ctx, s, err)
	}
	return state, p, err
}

func (d *Driver) change(ctx context.Context, s Stack) (State, Proposal, error) {
	p, err := d.Propose(ctx, s)
	if err != nil {
		return State{Name: s.Name}, p, err
	}
	state, err := d.execute(ctx, p)
	return state, p, err
}

// Settle brings a stack into a state in which it can be changed: an operation in
// progress is waited for, a half rollback brought to its end, and a stack that was
// never made, or is half deleted, is taken away.
func (d *Driver) Settle(ctx context.Context, name string) error {
	for range 5 { // each turn ends in another state
		state, err := d.Describe(ctx, name)
		switch {
		case errors.Is(err, ErrNoStack):
			return nil
		case err != nil:
			return err
		case state.Good() || state.review():
			return nil
		case state.InProgress():
			err = d.adopt(ctx, state)
		case state.Status == string(types.StackStatusUpdateRollbackFailed):
			err = d.rollBack(ctx, state)
		case state.neverMade():
			err = d.Delete(ctx, name)
		case state.Status == string(types.StackStatusUpdateFailed):
			return fmt.Errorf("stack %s is %s: roll it back on the console of CloudFormation", name, state.Status)
		default:
			return fmt.Errorf("stack %s is %s, which muster does not know how to go on from", name, state.Status)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("stack %s does not come to rest", name)
}

// Rest waits until the stack has no operation in progress and reports whether it had one.
// It changes nothing.
func (d *Driver) Rest(ctx context.Context, name string) (waited bool, err error) {
	for {
		state, err := d.Describe(ctx, name)
		switch {
		case errors.Is(err, ErrNoStack):
			return waited, nil
		case err != nil || !state.InProgress():
			return waited, err
		}
		waited = true
		if err := d.adopt(ctx, state); err != nil && !errors.Is(err, ErrNoStack) {
			return true, err
		}
	}
}

// adopt waits for an operation that another caller, or an earlier run, began. How it
// ended is for the next look.
func (d *Driver) adopt(ctx context.Context, state State) error {
	_, err := d.follow(ctx, &operation{stack: state.ID})
	return err
}

// rollBack brings an update's rollback to its end, which stopped at a failure.
func (d *Driver) rollBack(ctx context.Context, state State) error {
	mark, err := d.newest(ctx, state.ID)
	if err != nil {
		return err
	}
	token := name("rollback", mark)
	_, err = d.Client.ContinueUpdateRollback(ctx, &cloudformation.ContinueUpdateRollbackInput{StackName: &state.ID, ClientRequestToken: &token})
	if err != nil {
		return fmt.Errorf("go on with the rollback of stack %s: %w", state.Name, cause(err))
	}
	o := &operation{stack: state.ID, mark: mark}
	after, err := d.follow(ctx, o)
	if err != nil || after.Good() {
		return err
	}
	return fmt.Errorf("go on with the rollback of stack %s: %w", state.Name, o.failure(after))
}

// execute does what a proposal says and waits for its end.
func (d *Driver) execute(ctx context.Context, p Proposal) (State, error) {
	if p.ID == "" {
		return d.Describe(ctx, p.Stack)
	}
	mark := p.mark
	token := p.ID[strings.LastIndexByte(p.ID, '/')+1:]
	_, err := d.Client.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: &p.ID, ClientRequestToken: &token})
	var state *types.InvalidChangeSetStatusException
	if errors.As(err, &state) && d.begun(ctx, p) {
		err, mark = nil, "" // by a call whose answer was lost
	}
	if lost := overtaken(p.Stack, err); lost != nil {
		return State{Name: p.Stack}, lost
	}
	if err != nil {
		return State{Name: p.Stack}, fmt.Errorf("execute the change set of stack %s: %w", p.Stack, cause(err))
	}
	o := &operation{stack: p.Stack, mark: mark}
	after, err := d.follow(ctx, o)
	if err != nil {
		return after, err
	}
	return after, o.failure(after)
}

// begun says that a change set is being executed already.
func (d *Driver) begun(ctx context.Context, p Proposal) bool {
	out, err := d.Client.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: &p.ID})
	return err == nil && (out.ExecutionStatus == types.ExecutionStatusExecuteInProgress || out.ExecutionStatus == types.ExecutionStatusExecuteComplete)
}
