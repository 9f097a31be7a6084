// Package cloudformation drives CloudFormation: it makes a change set, shows what it
// would change, executes it, tells of the events that matter, says in words why
// something failed, and takes stacks away. After a crash the same call goes on:
//
//	nothing, REVIEW_IN_PROGRESS ──create──> CREATE_COMPLETE ──update──> UPDATE_COMPLETE
//	anything in progress          is waited for, our own or not
//	a create that failed          is taken away and made again
//	UPDATE_ROLLBACK_FAILED        is rolled back to its end first
package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// Driver works on the stacks of one account and region.
type Driver struct {
	Client *cloudformation.Client
	// Upload puts a template that is too large for a call where CloudFormation can
	// read it and returns its URL. It may be nil: then such a template is an error.
	Upload func(ctx context.Context, stack string, template []byte) (url string, err error)
	// Tell is told of the events of operations that are waited for; it may be nil.
	// Waiting is told now and then while one takes time; it may be nil.
	Tell    func(Event)
	Waiting func(stack, status string, since time.Duration)
}

// Stack is what a stack is to be.
type Stack struct {
	Name       string
	Template   []byte
	Parameters map[string]string
	Tags       map[string]string
}

// State is what a stack is.
type State struct {
	Name, ID string
	// Status is CloudFormation's, Reason what it says about it.
	Status, Reason string
	Outputs        map[string]string
	Tags           map[string]string
	Parameters     map[string]string
	// Changed is when the stack was made or last changed.
	Changed time.Time
	// Protected says that it cannot be deleted until its protection is lifted.
	Protected bool
}

// ErrNoStack says that there is no such stack.
var ErrNoStack = errors.New("there is no such stack")

// InProgress says that an operation goes on.
func (s State) InProgress() bool {
	return strings.HasSuffix(s.Status, "_IN_PROGRESS") && !s.review()
}

// Changing says that an operation goes on that is not the stack's deletion.
func (s State) Changing() bool {
	return s.InProgress() && s.Status != string(types.StackStatusDeleteInProgress)
}

// Good says that the last operation did what it was to do, or was undone whole.
func (s State) Good() bool {
	switch types.StackStatus(s.Status) {
	case types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete,
		types.StackStatusImportComplete, types.StackStatusImportRollbackComplete:
		return true
	}
	return false
}

// review is a stack that has only a change set.
func (s State) review() bool { return s.Status == string(types.StackStatusReviewInProgress) }

// neverMade is a stack whose creation failed: nothing can be done with it but
// take it away.
func (s State) neverMade() bool {
	switch types.StackStatus(s.Status) {
	case types.StackStatusCreateFailed, types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusDeleteFailed:
		return true
	}
	return false
}

// Describe looks at a stack, by its name or ID. It returns ErrNoStack where there
// is none.
func (d *Driver) Describe(ctx context.Context, name string) (State, error) {
	out, err := d.Client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if missing(err) || err == nil && len(out.Stacks) == 0 {
		return State{Name: name}, fmt.Errorf("look at stack %s: %w", name, ErrNoStack)
	}
	if err != nil {
		return State{Name: name}, fmt.Errorf("look at stack %s: %w", name, cause(err))
	}
	return stateOf(out.Stacks[0]), nil
}

// List looks at all stacks.
func (d *Driver) List(ctx context.Context) ([]State, error) {
	var all []State
	pages := cloudformation.NewDescribeStacksPaginator(d.Client, &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list stacks: %w", cause(err))
		}
		for _, s := range page.Stacks {
			all = append(all, stateOf(s))
		}
	}
	return all, nil
}

func stateOf(s types.Stack) State {
	state := State{
		Name: aws.ToString(s.StackName), ID: aws.ToString(s.StackId), Status: string(s.StackStatus), Reason: aws.ToString(s.StackStatusReason),
		Outputs: map[string]string{}, Tags: map[string]string{}, Parameters: map[string]string{}, Protected: aws.ToBool(s.EnableTerminationProtection),
		Changed: aws.ToTime(s.CreationTime),
	}
	if s.LastUpdatedTime != nil {
		state.Changed = *s.LastUpdatedTime
	}
	for _, o := range s.Outputs {
		state.Outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	for _, p := range s.Parameters {
		state.Parameters[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	for _, t := range s.Tags {
		state.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return state
}

// missing reports whether CloudFormation says that there is no such stack. It has
// no code of its own for that.
func missing(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist")
}

// cause is an error of AWS without the SDK's frame.
func cause(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) {
		return &refusal{code: api.ErrorCode(), message: api.ErrorMessage(), err: err}
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// refusal is what AWS answered. The SDK's error stays below it.
type refusal struct {
	code, message string
	err           error
}

func (r *refusal) Error() string { return r.code + ": " + r.message }
func (r *refusal) Unwrap() error { return r.err }

// New is a driver of an account's CloudFormation.
func New(config aws.Config) *Driver { return &Driver{Client: cloudformation.NewFromConfig(config)} }
