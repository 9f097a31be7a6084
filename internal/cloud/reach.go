package cloud

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/formation"
	"github.com/muster-hpc/muster/internal/reach"
	"github.com/muster-hpc/muster/internal/site"
	"github.com/muster-hpc/muster/internal/store"
)

// HeadOf finds a cluster's head node, and how people get to it: its addresses as EC2
// knows them, its keys and its user as it says itself.
func HeadOf(ctx context.Context, a *account.Account, r Record) (reach.Head, error) {
	if r.Adopted != nil {
		return theirWay(ctx, a, r)
	}
	var (
		group         sync.WaitGroup
		instance      account.Instance
		said          site.HeadStatus
		isErr, hasErr error
	)
	group.Go(func() { instance, isErr = headInstance(ctx, a, r.Name) })
	group.Go(func() { said, hasErr = headSaid(ctx, a, r) })
	group.Wait()
	if err := errors.Join(isErr, hasErr); err != nil {
		return reach.Head{}, err
	}
	h := reach.Head{
		Cluster: r.Name, Region: a.Region, Instance: instance.ID, Public: instance.Public, Private: instance.Address,
		KeyName: instance.KeyName, User: said.User, HostKeys: said.HostKeys,
	}
	if said.InstanceID != instance.ID {
		h.User, h.HostKeys = "", nil // an earlier head node's
	}
	return h, nil
}

func headInstance(ctx context.Context, a *account.Account, name string) (account.Instance, error) {
	all, err := a.OfRole(ctx, name, site.RoleHead)
	if err != nil {
		return account.Instance{}, err
	}
	for _, i := range all {
		switch {
		case i.Gone():
		case i.State == "running":
			return i, nil
		default:
			return i, fmt.Errorf("the head node %s of cluster %s is %s", i.ID, name, i.State)
		}
	}
	return account.Instance{}, fmt.Errorf("cluster %s has no head node in %s; `muster status --cluster %s` says what there is, `muster up` makes it whole", name, a.Region, name)
}

// headSaid is the last word of the head node, empty if it has said none.
func headSaid(ctx context.Context, a *account.Account, r Record) (site.HeadStatus, error) {
	var s site.HeadStatus
	bucket := r.Bucket
	if bucket == "" {
		state, err := formation.New(a.Config()).Describe(ctx, baseStack(r.Name))
		if errors.Is(err, formation.ErrNoStack) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		bucket = found{baseStack(r.Name): state}.bucket(r.Name)
	}
	b, err := openBucket(ctx, a, bucket)
	if err == nil {
		err = readJSON(ctx, b, site.HeadKey(r.Name), &s)
	}
	if errors.Is(err, store.ErrNotFound) {
		return s, nil
	}
	return s, err
}
