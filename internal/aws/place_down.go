package aws

import (
	"context"
	"fmt"
	"slices"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/place"
)

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
