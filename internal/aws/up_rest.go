package aws

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
)

// rest waits for operations that a killed `up` or `down` has begun. A stack in motion tells
// neither its resources nor its changes.
func (u *up) rest(ctx context.Context) error {
	u.driver.Tell = func(e cloudformation.Event) {
		if line := telling(e); line != "" {
			u.Report.Note(line)
		}
	}
	u.driver.Waiting = func(stack, status string, since time.Duration) {
		u.Report.Waiting("stack "+stack, inSmall(status), since)
	}
	var err error
	u.stacks, err = rested(ctx, u.driver, u.Name, u.stacks, cloudformation.State.InProgress)
	return err
}

// rested are the stacks of a cluster when those that move have come to rest.
func rested(ctx context.Context, driver *cloudformation.Driver, name string, stacks found, moves func(cloudformation.State) bool) (found, error) {
	again := false
	for _, stack := range stackNames(name) {
		if !moves(stacks[stack]) {
			continue
		}
		if _, err := driver.Rest(ctx, stack); err != nil {
			return nil, err
		}
		again = true
	}
	if !again {
		return stacks, nil
	}
	return look(ctx, driver, name)
}

// own returns the IDs of the base stack's resources. Another machine may have begun an
// operation since the look: then own waits for its end and says so. A resource that a
// rollback has left in the account is not the stack's any more.
func (u *up) own(ctx context.Context) (ids map[string]bool, waited bool, err error) {
	ids = map[string]bool{}
	if waited, err = u.driver.Rest(ctx, baseStack(u.Name)); err != nil || waited {
		return ids, waited, err
	}
	all, err := u.driver.Resources(ctx, baseStack(u.Name))
	if errors.Is(err, cloudformation.ErrNoStack) {
		return ids, false, nil
	}
	all = slices.DeleteFunc(all, cloudformation.Resource.LetGo)
	for _, r := range all {
		ids[r.ID] = true
	}
	return ids, false, err
}
