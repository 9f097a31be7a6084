package local

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/local/nodes"
)

// Share has the controller show a directory of this machine on all of the cluster's.
func Share(l *nodes.Layout, dir string) error {
	body, err := json.Marshal(controller.ShareRequest{Dir: dir})
	if err != nil {
		return err
	}
	resp, err := ControllerClient(l).Post("http://controller/v1/share", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	return done(resp)
}

// showWorkDir shows the caller's directory on machines that run.
func (u *up) showWorkDir() error {
	r, err := u.layout.Record()
	if err != nil || r.Visible(u.WorkDir) || !nodes.Shareable(u.WorkDir) {
		return err
	}
	if err := Share(u.layout, u.WorkDir); err != nil {
		return fmt.Errorf("show %s on the cluster's machines: %w", u.WorkDir, err)
	}
	return nil
}
