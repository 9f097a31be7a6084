package cloudformation

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

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
