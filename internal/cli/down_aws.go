package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/page"
)

// downAWS takes a cluster on AWS down.
func (a *app) downAWS(ctx context.Context, w where, o downOptions) error {
	acc, err := w.accountOf(ctx)
	if err != nil {
		return err
	}
	if err := a.confirmDown(ctx, acc, w, o); err != nil {
		return err
	}
	answer := changeAnswer{Cluster: w.name}
	answer.Steps, answer.Left, err = aws.Down(ctx, aws.DownOptions{Name: w.name, Home: w.home, Account: acc, DeleteData: o.deleteData, Report: a.reporter()})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(a.err, "\nmuster: `muster down --cluster %s` goes on from here\n", w.name)
	}
	if err := a.showSteps(answer, err); err != nil {
		return err
	}
	return a.showLeft(answer.Left)
}

// confirmDown asks before a cluster is taken down. What is not there needs no yes.
func (a *app) confirmDown(ctx context.Context, acc *api.Account, w where, o downOptions) error {
	if o.yes {
		return nil
	}
	names, err := aws.Clusters(ctx, acc)
	if err != nil || !slices.Contains(names, w.name) {
		return err
	}
	question := fmt.Sprintf("Take cluster %s in %s down? Its jobs end.", w.name, acc.Region)
	if o.deleteData {
		question = fmt.Sprintf("Take cluster %s in %s down and delete all its data? Its jobs end.", w.name, acc.Region)
	}
	return a.confirm(question)
}

// showLeft lists what a cluster leaves behind. What costs is worth a look.
func (a *app) showLeft(left []aws.Left) error {
	code := error(nil)
	for _, l := range left {
		if l.Costs() {
			code = fault.Exit(fault.ExitLook)
		}
	}
	if a.output == "json" {
		return code
	}
	return errors.Join(leftTable(left).Write(a.out), code)
}

// leftTable has what costs, and the number of what does not.
func leftTable(left []aws.Left) page.Table {
	var t page.Table
	free := 0
	for _, l := range left {
		if l.Free && l.Known {
			free++
			continue
		}
		price := "price unknown"
		if l.Known {
			price = fmt.Sprintf("$%.2f a month", l.USDPerMonth)
		}
		why := "left behind"
		if l.Kept {
			why = "kept: " + l.Why
		}
		t.Add(l.Kind, l.ID, l.What, price, why)
	}
	if free > 0 {
		t.Add(fmt.Sprintf("and %s of no cost", count.Of(free, "thing")))
	}
	return t
}
