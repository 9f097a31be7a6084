package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"
)

// Overtaken says that another caller changes the stack at the same time: a change set
// is for the stack as it was, and goes with the first change.
type Overtaken struct {
	Stack string
	Err   error
}

func (o *Overtaken) Error() string {
	return fmt.Sprintf("another muster is changing stack %s: run this again when it has ended (%v)", o.Stack, o.Err)
}

func (o *Overtaken) Unwrap() error { return o.Err }

// overtaken is the Overtaken that an error of a call on a change set stands for, nil
// for any other error.
func overtaken(stack string, err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return nil
	}
	switch code, text := api.ErrorCode(), api.ErrorMessage(); {
	case code == "ChangeSetNotFound", code == "ChangeSetNotFoundException":
	case code == "InvalidChangeSetStatus", code == "InvalidChangeSetStatusException":
	case code == "ValidationError" && strings.Contains(text, "_IN_PROGRESS state and can"):
	default:
		return nil
	}
	return &Overtaken{Stack: stack, Err: cause(err)}
}

// behind waits for the end of the change that overtook ours. Where it did all that
// ours was to do, that is the end. Otherwise ours is not made: it was for a stack that
// is no more.
func (d *Driver) behind(ctx context.Context, s Stack, why error) (State, Proposal, error) {
	state, err := d.Describe(ctx, s.Name)
	if err == nil && state.InProgress() {
		if d.Waiting != nil {
			d.Waiting(s.Name, "another muster is changing it", 0)
		}
		state, err = d.follow(ctx, &operation{stack: state.ID})
	}
	if err != nil || !state.Good() {
		return state, Proposal{}, errors.Join(why, err)
	}
	p, err := d.Propose(ctx, s)
	if err != nil {
		return state, p, errors.Join(why, err)
	}
	if p.ID == "" {
		return state, p, nil
	}
	return state, p, errors.Join(why, d.TakeBack(ctx, p))
}
