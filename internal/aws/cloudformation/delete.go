package cloudformation

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Delete takes a stack away and waits until it is gone. One that is not there is
// gone. Where a resource cannot be deleted the error is a *Failure that names it;
// once the reason is mended, the same call goes on.
func (d *Driver) Delete(ctx context.Context, name string) error {
	state, err := d.Describe(ctx, name)
	for err == nil && state.Changing() {
		if err = d.adopt(ctx, state); err == nil {
			state, err = d.Describe(ctx, name)
		}
	}
	switch {
	case errors.Is(err, ErrNoStack):
		return nil
	case err != nil:
		return err
	case state.Protected:
		return fmt.Errorf("stack %s is protected; lift that with `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name %s`", name, name)
	}
	return d.delete(ctx, state)
}

func (d *Driver) delete(ctx context.Context, state State) error {
	o := &operation{stack: state.ID}
	if state.Status != string(types.StackStatusDeleteInProgress) {
		var err error
		if o.mark, err = d.newest(ctx, state.ID); err != nil {
			return err
		}
		if _, err := d.Client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &state.ID}); err != nil {
			return fmt.Errorf("delete stack %s: %w", state.Name, cause(err))
		}
	}
	after, err := d.follow(ctx, o)
	switch {
	case errors.Is(err, ErrNoStack):
		return nil
	case err != nil:
		return err
	case after.Status == string(types.StackStatusDeleteComplete):
		return nil
	}
	return o.failure(after)
}

// Protect has CloudFormation refuse to delete a stack, until Release.
func (d *Driver) Protect(ctx context.Context, name string) error { return d.protect(ctx, name, true) }

// Release lets a stack be deleted again.
func (d *Driver) Release(ctx context.Context, name string) error { return d.protect(ctx, name, false) }

func (d *Driver) protect(ctx context.Context, name string, on bool) error {
	in := &cloudformation.UpdateTerminationProtectionInput{StackName: &name, EnableTerminationProtection: &on}
	if _, err := d.Client.UpdateTerminationProtection(ctx, in); err != nil {
		return fmt.Errorf("change the protection of stack %s: %w", name, cause(err))
	}
	return nil
}
