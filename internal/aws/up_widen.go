package aws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/stack"
)

// widened is what a stack is changed to before the later ones have changed: with what
// has left it, for they still use that. What was widened is narrowed in the end.
func (u *up) widened(ctx context.Context, s *stack.Stack) (cloudformation.Stack, error) {
	in, err := u.input(s)
	if err != nil || u.stacks[s.Name].ID == "" {
		return in, err
	}
	if err := u.driver.Settle(ctx, s.Name); err != nil {
		return in, err
	}
	state, err := u.driver.Describe(ctx, s.Name)
	if errors.Is(err, cloudformation.ErrNoStack) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	former, err := u.driver.Template(ctx, s.Name)
	if err != nil {
		return in, err
	}
	body, wider, err := s.Widened(former)
	if err != nil || !wider {
		return in, err
	}
	for name, value := range state.Parameters {
		if _, ok := in.Parameters[name]; !ok {
			in.Parameters[name] = value
		}
	}
	in.Template = body
	u.narrow = append(u.narrow, s)
	return in, nil
}

// emptied says that the cluster has a stack of file systems and its file has none.
func (u *up) emptied() bool {
	_, there := u.stacks[storageStack(u.Name)]
	return there && u.set.Storage == nil
}

// planEmptied says what becomes of the file systems of a stack that is not to be any
// more: those that outlive it stay in the account.
func (u *up) planEmptied(ctx context.Context) (StackPlan, error) {
	state := u.stacks[storageStack(u.Name)]
	one := StackPlan{Name: state.Name, Action: "remove"}
	all, err := u.driver.Resources(ctx, state.Name)
	if err != nil {
		return one, err
	}
	template, err := u.driver.Template(ctx, state.Name)
	if err != nil {
		return one, err
	}
	kept, err := cloudformation.Kept(template)
	for _, r := range all {
		if r.ID != "" {
			one.Changes = append(one.Changes, ResourceChange{Change: cloudformation.Change{Action: cloudformation.Remove, Resource: r.Name, Type: r.Type, ID: r.ID, Keeps: kept[r.Name]}})
		}
	}
	return one, err
}

// narrower takes away what has left the stacks, the last one first.
func (u *up) narrower(ctx context.Context) (string, error) {
	var all []string
	if u.emptied() {
		name := storageStack(u.Name)
		u.driver.Waiting = func(_, status string, since time.Duration) {
			u.Report.Waiting("stack "+name, inSmall(status), since)
		}
		if err := release(ctx, u.driver, u.stacks[name]); err != nil {
			return "", err
		}
		if err := u.driver.Delete(ctx, name); err != nil {
			return "", err
		}
		delete(u.stacks, name)
		all = append(all, "stack "+name+" is gone")
	}
	for _, s := range slices.Backward(u.narrow) {
		in, err := u.input(s)
		if err != nil {
			return "", err
		}
		detail, err := u.ensure(ctx, s, in)
		if err != nil {
			return "", err
		}
		all = append(all, "stack "+s.Name+": "+detail)
	}
	return strings.Join(all, ", "), nil
}
