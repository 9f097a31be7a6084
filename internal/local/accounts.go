package local

import (
	"cmp"
	"context"
	"strings"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// accountsOf are a cluster's accounts. Where the cluster is an ordinary user's, Slurm's own user is
// he, and must be able to run jobs whatever the file says: `up` runs one.
func accountsOf(l *nodes.Layout, name string, s slurm.Client, w *spec.Workload, user string) account.Target {
	t := account.Target{Slurm: s, Cluster: strings.ToLower(name), Workload: w, Record: l.Path("state", "accounts.json")}
	if l.Rootless {
		t.Owner = user
	}
	return t
}

// accounts makes Slurm's accounts and QoS what muster.yaml says.
func (u *up) accounts(ctx context.Context) (string, error) {
	anchor, _ := u.layout.Alive()
	return accountsOf(u.layout, u.Ref.Name, slurmOf(u.layout, anchor), u.Workload, u.config.record.User).Apply(ctx)
}

// accountsFirst sets accounts before slurmctld is told to hold jobs to them: it holds those back that have none.
func (u *up) accountsFirst(ctx context.Context) (err error) {
	if u.ready("slurmdbd") {
		u.accounted, err = u.accounts(ctx)
	}
	return err
}

// accountsStep is a step of its own where muster.yaml says, or said, something of accounts.
func (u *up) accountsStep(ctx context.Context) error {
	concerned, err := accountsOf(u.layout, u.Ref.Name, slurm.Client{}, u.Workload, "").Concerned()
	if err != nil || !concerned {
		return err
	}
	return u.steps.Do("set accounts", func() (string, error) {
		detail, err := u.accounts(ctx)
		return cmp.Or(u.accounted, detail), err
	})
}

// accountsPlan is what an `up` does to a running cluster's accounts. Where Slurm does not answer that is nothing; Up
// fails later if it stays silent.
func (o UpOptions) accountsPlan(ctx context.Context) account.Plan {
	l := o.Ref.Layout()
	anchor, alive := l.Alive()
	record, err := l.Record()
	if !alive || err != nil {
		return account.Plan{}
	}
	t := accountsOf(l, o.Ref.Name, slurmOf(l, anchor), o.Workload, record.User)
	if concerned, err := t.Concerned(); err != nil || !concerned {
		return account.Plan{}
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	p, err := t.Plan(ctx)
	if err != nil {
		return account.Plan{}
	}
	return p
}
