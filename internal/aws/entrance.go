package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/services"
)

// find finds the way to the head node. A connection that is open is taken without asking
// AWS.
func (c *cluster) find(ctx context.Context, o connect.Options) (connect.Way, error) {
	way, err := c.head(ctx, o)
	if err != nil {
		return way, err
	}
	return c.choose(ctx, way)
}

// head finds the head node.
func (c *cluster) head(ctx context.Context, o connect.Options) (connect.Way, error) {
	way := connect.Way{Want: o, At: filesOf(c.home, c.record.Name)}
	if home, err := os.UserHomeDir(); err == nil {
		way.Keys = filepath.Join(home, ".ssh")
	}
	if known, ok := way.At.Recall(); ok && o == (connect.Options{}) {
		way.Head, way.Open = known, true
		return way, nil
	}
	acc, err := api.Open(ctx, c.record.Region)
	if err == nil {
		way.Head, err = HeadOf(ctx, acc, c.record)
	}
	return way, err
}

// HostKeys implements place.Cluster: those that SSH of this machine trusts.
func (c *cluster) HostKeys(ctx context.Context) ([]string, error) {
	way, err := c.head(ctx, connect.Options{})
	if err != nil {
		return nil, err
	}
	return way.HostKeys, keep(way)
}

// keep keeps the keys of the head node.
func keep(way connect.Way) error {
	if err := way.At.Keep(way.Head); err != nil {
		return fmt.Errorf("%w; `muster status --cluster %s` shows its boot, `muster ssh --ssm` enters it by Session Manager", err, way.Cluster)
	}
	return nil
}

// choose keeps the keys of the head node and finds out whether SSH gets there by
// itself.
func (c *cluster) choose(ctx context.Context, way connect.Way) (connect.Way, error) {
	if way.Open {
		return way, nil
	}
	if err := keep(way); err != nil {
		return way, err
	}
	if way.KeyName == "" && way.Want.Identity == "" {
		c.talk.Note("the head node has no key pair: SSH lets in only those whose key its image or a custom action brought")
	}
	if cmp.Or(way.Want.User, way.User) == "" {
		return way, errors.New("the head node has not said yet as whom people log in; say it with `muster ssh --user NAME`")
	}
	session, err := way.Choose(way.Want, way.Look(ctx, way.Want, append(way.Line(), way.Name())))
	if err != nil || !session {
		return way, err
	}
	self, err := os.Executable()
	way.Proxy = []string{self, "agent", "session", "--region", way.Region, way.Instance}
	return way, err
}

// entered is the command line by which the muster on the head node, which is at a path,
// runs a program for a user of another machine.
func entered(muster string, program []string) []string {
	if program[0] == services.Muster {
		program = append([]string{muster}, program[1:]...)
	}
	return append([]string{muster, "agent", "enter", "--"}, program...)
}
