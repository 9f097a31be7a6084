package cli

import (
	"cmp"
	"context"
	"os/user"
	"strconv"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/slurm"
)

// asker asks the cluster that the command is about, nil if it does not run.
func (a *app) asker(ctx context.Context) func(*batch.Facts, []byte) *batch.Facts {
	s, err := a.slurmHere()
	if err != nil {
		return nil
	}
	return func(filed *batch.Facts, script []byte) *batch.Facts {
		facts, err := runningOf(ctx, s, filed)
		if err != nil {
			return filed // what only the cluster knows stays unknown
		}
		facts.Asked = askCluster(ctx, s, script, nil)
		a.lookFor(facts, script, nil)
		return facts
	}
}

// askCluster asks a running cluster about the other names of a script, and only about
// those. Names without an answer stay unknown, and the check says so.
func askCluster(ctx context.Context, s slurm.Client, data []byte, flags []string) *batch.Asked {
	look, cancel := slurm.Limited(ctx)
	defer cancel()
	a := &batch.Asked{}
	for _, q := range []struct {
		options []string
		ask     func() error
	}{
		{[]string{"account", "qos", "switches", "wckey", "dependency"}, func() (err error) { a.Conf, err = s.Conf(look); return err }},
		{[]string{"reservation"}, func() (err error) { a.Reservations, err = reservationNames(look, s); return err }},
		{[]string{"licenses"}, func() (err error) { a.Licenses, err = s.Licenses(look); return err }},
		{[]string{"account"}, func() (err error) { a.Accounts, err = accountsOf(look, s); return err }},
		{[]string{"qos"}, func() (err error) { a.Qualities, err = s.Qualities(look); return err }},
		{[]string{"dependency"}, func() (err error) { a.Jobs, err = jobNumbers(look, s); return err }},
		{[]string{"clusters"}, func() (err error) { a.Clusters, err = s.Clusters(look); return err }},
	} {
		if batch.Wants(data, flags, q.options...) {
			_ = q.ask() // without an answer it is unknown
		}
	}
	return a
}

// reservationNames are those of all reservations. None is not nil.
func reservationNames(ctx context.Context, s slurm.Client) ([]string, error) {
	all, err := s.Reservations(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, r := range all {
		names = append(names, r.Name)
	}
	return names, nil
}

// jobNumbers are those of the jobs that slurmctld knows, and of their arrays. None is not nil.
func jobNumbers(ctx context.Context, s slurm.Client) ([]string, error) {
	all, _, err := s.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	numbers := []string{}
	for _, j := range all {
		numbers = append(numbers, strconv.Itoa(j.ID), strconv.Itoa(cmp.Or(j.ArrayJobID, j.ID)))
	}
	return numbers, nil
}

// accountsOf are the accounts that the caller may charge.
func accountsOf(ctx context.Context, s slurm.Client) ([]string, error) {
	u, err := user.Current()
	if err != nil {
		return nil, err
	}
	return s.Accounts(ctx, u.Username)
}
