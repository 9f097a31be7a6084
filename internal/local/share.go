package local

import (
	"context"
	"fmt"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

// showWorkDir shows the caller's directory on machines that run.
func (u *up) showWorkDir(ctx context.Context) error {
	r, err := u.layout.Record()
	if err != nil || r.Visible(u.WorkDir) || !nodes.Shareable(u.WorkDir) {
		return err
	}
	if err := Controller(u.layout).Share(ctx, u.WorkDir); err != nil {
		return fmt.Errorf("show %s on the cluster's machines: %w", u.WorkDir, err)
	}
	return nil
}
