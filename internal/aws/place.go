package aws

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/status"
	"github.com/muster-hpc/muster/internal/sys/shell"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

// Place is AWS.
type Place struct{}

// Name implements place.Place.
func (Place) Name() string { return "aws" }

// On implements place.Place.
func (Place) On() string { return "on AWS" }

// Here implements place.Place.
func (Place) Here() error { return nil }

// Asks implements place.Place: where there are credentials, AWS may have clusters that
// other machines made.
func (Place) Asks() bool { return api.Configured() }

// Known implements place.Place.
func (Place) Known(home string) ([]place.Known, error) {
	records, err := allKnown(home)
	var all []place.Known
	for _, r := range records { // that one cannot be read shows when the cluster is opened
		all = append(all, place.Known{Name: r.Name, File: r.File})
	}
	return all, err
}

// Kept implements place.Place: what stays of a cluster on AWS stays there.
func (Place) Kept(string) []place.Kept { return nil }

// Lacks implements place.Place. Every flag means something, if only that another command
// does it.
func (Place) Lacks(string, string) bool { return false }

// Look implements place.Place: at the clusters that this machine knows of, and at those
// that the region of the environment has. Without credentials the region is left out,
// unless AWS was asked for.
func (Place) Look(ctx context.Context, q place.Query) ([]status.Cluster, error) {
	records, err := everywhere(ctx, q.Home, q.Only)
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records, func(r known) bool { return q.Name != "" && r.Name != q.Name })
	if len(records) == 0 && q.Name != "" && q.Only {
		return nil, fault.Coded(fault.CodeUnknown, "there is no cluster %s on AWS that this machine knows of, nor in the region of the environment; AWS_REGION chooses another one", q.Name)
	}
	return status.All(records, func(r known) status.Cluster { return r.look(ctx) }), nil
}

// everywhere are all clusters, by name.
func everywhere(ctx context.Context, home string, only bool) ([]known, error) {
	records, err := allKnown(home)
	if err != nil {
		return nil, err
	}
	byName := map[string]known{}
	if only || api.Configured() {
		here, err := inRegion(ctx)
		if err != nil && only && len(records) == 0 {
			return nil, err
		}
		for _, r := range here {
			byName[r.Name] = known{Record: r}
		}
	}
	for _, r := range records {
		byName[r.Name] = r
	}
	return slices.SortedStableFunc(maps.Values(byName), func(x, y known) int { return strings.Compare(x.Name, y.Name) }), nil
}

// Open implements place.Place.
func (Place) Open(home, name string, t place.Talk) (place.Cluster, error) {
	record, err := RecordOf(home, name)
	if errors.Is(err, fs.ErrNotExist) {
		record, err = Record{Name: name}, nil
	}
	return &cluster{home: home, record: record, talk: t}, err
}

// cluster is a cluster on AWS.
type cluster struct {
	home   string
	record Record
	talk   place.Talk
	// way is the usual way to the head node, where muster is at a path, once it was opened.
	way    *connect.Way
	muster string
}

// Near implements place.Cluster.
func (*cluster) Near() place.Near { return nil }

// Taken implements place.Cluster.
func (c *cluster) Taken(by place.Other) error {
	if by.Chosen || c.record.Adopted != nil {
		return fault.Usage(fmt.Errorf("cluster %s is on AWS, in %s: choose another name for a local one with --cluster", c.record.Name, c.record.Region))
	}
	return fault.Usage(fmt.Errorf("cluster %s is on AWS, in %s: `muster up %s --on aws` changes it; for a local one choose another name with --cluster", c.record.Name, c.record.Region, spec.Again(by.File)))
}

func (c *cluster) account(ctx context.Context) (*api.Account, error) {
	return api.Open(ctx, c.record.Region)
}

// open finds the way to the head node: the usual one once.
func (c *cluster) open(ctx context.Context, w place.Way) (way connect.Way, muster string, err error) {
	usual := w == place.Way{}
	if usual && c.way != nil {
		return *c.way, c.muster, nil
	}
	if way, err = c.find(ctx, connect.Options(w)); err != nil {
		return way, "", err
	}
	if muster, err = c.program(ctx, way); err != nil {
		return way, "", err
	}
	if usual {
		c.way, c.muster = &way, muster
	}
	return way, muster, nil
}

// Enter implements place.Cluster. On nodes of a cluster on AWS programs are jobs.
func (c *cluster) Enter(ctx context.Context, p place.Program) error {
	if p.Node != "" {
		return fault.Usage(errors.New("on AWS a command runs on a node as a job: `muster exec -- srun --nodelist=" + p.Node + " COMMAND`"))
	}
	way, muster, err := c.open(ctx, p.Way)
	if err != nil {
		return err
	}
	terminal := c.talk.Terminal() && p.Input == nil && p.Output == nil // a terminal there would show what is typed, and change what is written
	use := connect.Use{Terminal: terminal, NoInput: p.Quiet && !terminal && p.Input == nil}
	return runSSH(ctx, way.Run(use, entered(muster, p.Args)...), p)
}

// Send implements place.Cluster.
func (c *cluster) Send(ctx context.Context, script string, text []byte) (string, error) {
	way, muster, err := c.open(ctx, place.Way{})
	if err != nil {
		return "", err
	}
	there, err := sendScript(ctx, way, muster, script, text)
	if err == nil {
		c.talk.Note("%s is ~/%s on the head node; the job begins in the home directory there", script, there)
	}
	return there, err
}

// Shell implements place.Cluster.
func (c *cluster) Shell(ctx context.Context, node string, w place.Way) error {
	if node != "" {
		return fault.Usage(errors.New("on AWS a shell runs on a node as a job: `muster exec -- srun --nodelist=" + node + " --pty bash`"))
	}
	way, err := c.head(ctx, connect.Options(w))
	if err != nil {
		return err
	}
	keyless := way.KeyName == "" && w.Identity == ""
	if (keyless || w.Session && len(way.HostKeys) == 0) && connect.PluginMissing(ctx) == nil {
		return StartSession(ctx, c.record.Region, connect.ShellSession(way.Head))
	}
	if way, err = c.choose(ctx, way); err != nil {
		return err
	}
	return tie.Become(way.Shell(), os.Environ())
}

// SSH implements place.Cluster.
func (c *cluster) SSH(ctx context.Context, o place.SSHOptions) error {
	if !o.DryRun && len(o.Args) == 0 {
		return c.Shell(ctx, "", o.Way)
	}
	way, err := c.find(ctx, connect.Options(o.Way))
	if err != nil {
		return err
	}
	// What the user asks SSH for may last longer than a shared connection, or need one
	// of another kind.
	way.Alone = true
	line := way.Shell(o.Args...)
	if o.DryRun {
		return c.talk.Answer(shell.Line(line))
	}
	return tie.Become(line, os.Environ())
}

// Fleet implements place.Cluster, by way of the cluster's bucket: that works from
// everywhere.
func (c *cluster) Fleet(ctx context.Context, o client.FleetOrder) error {
	want, theirs := "stopped", "STOP_REQUESTED"
	if o.Run {
		want, theirs = "running", "START_REQUESTED"
	}
	if c.record.Adopted != nil {
		return fmt.Errorf("cluster %s is ParallelCluster's: `pcluster update-compute-fleet -n %s -r %s --status %s`", c.record.Name, c.record.Name, c.record.Region, theirs)
	}
	acc, err := c.account(ctx)
	if err != nil {
		return err
	}
	return Fleet(ctx, FleetOptions{Name: c.record.Name, Account: acc, Want: want, Now: o.Now, Why: "muster fleet from another machine", Report: c.talk.Report()})
}

// Down implements place.Cluster.
func (c *cluster) Down(ctx context.Context, o place.DownOptions) (place.Answer, error) {
	acc, err := c.account(ctx)
	if err != nil {
		return place.Answer{}, err
	}
	if err := c.confirmDown(ctx, acc, o); err != nil {
		return place.Answer{}, err
	}
	answer := place.Answer{Cluster: c.record.Name}
	answer.Steps, answer.Left, err = Down(ctx, DownOptions{Name: c.record.Name, Home: c.home, Account: acc, DeleteData: o.DeleteData, Report: c.talk.Report()})
	return answer, err
}

// confirmDown asks before a cluster is taken down, unless there is none.
func (c *cluster) confirmDown(ctx context.Context, acc *api.Account, o place.DownOptions) error {
	if o.Yes {
		return nil
	}
	names, err := clusters(ctx, acc)
	if err != nil || !slices.Contains(names, c.record.Name) {
		return err
	}
	question := fmt.Sprintf("Take cluster %s in %s down? Its jobs end.", c.record.Name, acc.Region)
	if o.DeleteData {
		question = fmt.Sprintf("Take cluster %s in %s down and delete all its data? Its jobs end.", c.record.Name, acc.Region)
	}
	return c.talk.Confirm(question)
}
