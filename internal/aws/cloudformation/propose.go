package cloudformation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Proposal is a change set: what a stack would become.
type Proposal struct {
	Stack string
	// ID is empty if the change set would be.
	ID string
	// Create says that the stack is not there yet.
	Create  bool
	Changes []Change
	// before is what the stack was when this was made.
	before State
	// mark is the event behind which those of this change come, empty for a creation. It
	// is of that time, too: another muster may carry out the same proposal before us.
	mark string
}

// maxBody is how large a template may be that is sent with the call.
const maxBody = 51_200 // bytes

// setLimit is how long CloudFormation may take to make a change set.
const setLimit = 10 * time.Minute

// Propose makes a change set for a stack that is settled or not there. The same
// proposal for the same state of the stack is found again, not made twice.
func (d *Driver) Propose(ctx context.Context, s Stack) (Proposal, error) {
	before, err := d.Describe(ctx, s.Name)
	absent := errors.Is(err, ErrNoStack)
	switch {
	case err != nil && !absent:
		return Proposal{}, err
	case before.InProgress():
		return Proposal{}, &Overtaken{Stack: s.Name, Err: fmt.Errorf("it is %s", before.Status)}
	case !absent && !before.Good() && !before.review():
		return Proposal{}, fmt.Errorf("stack %s is %s and cannot be changed", s.Name, before.Status)
	}
	p := Proposal{Stack: s.Name, Create: absent || before.review(), before: before}
	if !p.Create {
		if p.mark, err = d.newest(ctx, s.Name); err != nil {
			return p, err
		}
	}
	set := setName(s, before)
	in := &cloudformation.CreateChangeSetInput{
		StackName: &s.Name, ChangeSetName: &set, ClientToken: &set, ChangeSetType: types.ChangeSetTypeUpdate,
		Parameters: parameters(s.Parameters), Tags: tags(s.Tags), Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	}
	if p.Create {
		in.ChangeSetType = types.ChangeSetTypeCreate
	}
	if err := d.template(ctx, s, in); err != nil {
		return p, err
	}
	_, err = d.Client.CreateChangeSet(ctx, in)
	var there *types.AlreadyExistsException
	if lost := overtaken(s.Name, err); lost != nil {
		return p, lost
	}
	if err != nil && !errors.As(err, &there) {
		return p, fmt.Errorf("make a change set for stack %s: %w", s.Name, cause(err))
	}
	return d.await(ctx, p, set)
}

// template puts the stack's template into the call, or where CloudFormation reads it.
func (d *Driver) template(ctx context.Context, s Stack, in *cloudformation.CreateChangeSetInput) error {
	if len(s.Template) <= maxBody {
		in.TemplateBody = aws.String(string(s.Template))
		return nil
	}
	if d.Upload == nil {
		return fmt.Errorf("the template of stack %s has %d bytes, and there is no bucket to put it in", s.Name, len(s.Template))
	}
	url, err := d.Upload(ctx, s.Name, s.Template)
	if err != nil {
		return fmt.Errorf("upload the template of stack %s: %w", s.Name, err)
	}
	in.TemplateURL = &url
	return nil
}

// await waits until the change set is made, and reads it.
func (d *Driver) await(ctx context.Context, p Proposal, set string) (Proposal, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, setLimit, fmt.Errorf("the change set was not made within %s", setLimit))
	defer cancel()
	pace := newPace()
	for {
		out, err := d.changeSet(ctx, p.Stack, set)
		if err != nil {
			return p, err
		}
		p.Changes = changesOf(out.Changes)
		switch out.Status {
		case types.ChangeSetStatusCreateComplete:
			p.ID = aws.ToString(out.ChangeSetId)
			return p, nil
		case types.ChangeSetStatusFailed:
			return d.noSet(ctx, p, set, aws.ToString(out.StatusReason))
		}
		if err := pace.wait(ctx); err != nil {
			return p, fmt.Errorf("make a change set for stack %s: %w", p.Stack, err)
		}
	}
}

// noSet is what a change set means that failed: that there is nothing to change,
// or a mistake. It is deleted, for its name could not be used again.
func (d *Driver) noSet(ctx context.Context, p Proposal, set, reason string) (Proposal, error) {
	if _, err := d.Client.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{StackName: &p.Stack, ChangeSetName: &set}); err != nil {
		return p, fmt.Errorf("take back a change set of stack %s: %w", p.Stack, cause(err))
	}
	if strings.Contains(reason, "didn't contain changes") || strings.Contains(reason, "No updates are to be performed") {
		return Proposal{Stack: p.Stack, before: p.before}, nil
	}
	return p, fmt.Errorf("make a change set for stack %s: %s", p.Stack, plain(reason))
}

// changeSet reads all pages of a change set.
func (d *Driver) changeSet(ctx context.Context, stack, set string) (*cloudformation.DescribeChangeSetOutput, error) {
	var whole *cloudformation.DescribeChangeSetOutput
	in := &cloudformation.DescribeChangeSetInput{StackName: &stack, ChangeSetName: &set}
	for {
		page, err := d.Client.DescribeChangeSet(ctx, in)
		if lost := overtaken(stack, err); lost != nil {
			return nil, lost
		}
		if err != nil {
			return nil, fmt.Errorf("read a change set of stack %s: %w", stack, cause(err))
		}
		if whole == nil {
			whole = page
		} else {
			whole.Changes = append(whole.Changes, page.Changes...)
		}
		if in.NextToken = page.NextToken; in.NextToken == nil {
			return whole, nil
		}
	}
}

// TakeBack forgets a proposal. A stack that only had this proposal goes with it.
func (d *Driver) TakeBack(ctx context.Context, p Proposal) error {
	if p.ID == "" {
		return nil
	}
	if p.Create {
		_, err := d.Client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &p.Stack})
		if err != nil {
			return fmt.Errorf("take back the proposal for stack %s: %w", p.Stack, cause(err))
		}
		return nil
	}
	if _, err := d.Client.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: &p.ID}); err != nil {
		return fmt.Errorf("take back a change set of stack %s: %w", p.Stack, cause(err))
	}
	return nil
}

// setName names a change set for what it is to do to which state of a stack.
func setName(s Stack, before State) string {
	return name(s, before.ID, before.Status, before.Changed.UTC())
}

// name is the same for the same values, in the letters that CloudFormation takes.
func name(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts, maps of texts and times
	}
	sum := sha256.Sum256(text)
	return "muster-" + hex.EncodeToString(sum[:12])
}

func parameters(values map[string]string) []types.Parameter {
	var all []types.Parameter
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(values[name])})
	}
	return all
}

func tags(values map[string]string) []types.Tag {
	var all []types.Tag
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, types.Tag{Key: aws.String(name), Value: aws.String(values[name])})
	}
	return all
}
