package aws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

// HeadOf finds a cluster's head node, and how people get to it: its addresses as EC2
// knows them, its keys and its user as it says itself.
func HeadOf(ctx context.Context, a *api.Account, r Record) (connect.Head, error) {
	if r.Adopted != nil {
		return theirWay(ctx, a, r)
	}
	var (
		group         sync.WaitGroup
		instance      api.Instance
		said          manifest.HeadStatus
		isErr, hasErr error
	)
	group.Go(func() { instance, isErr = headInstance(ctx, a, r.Name) })
	group.Go(func() { said, hasErr = headSaid(ctx, a, r) })
	group.Wait()
	if err := errors.Join(isErr, hasErr); err != nil {
		return connect.Head{}, err
	}
	h := connect.Head{
		Cluster: r.Name, Region: a.Region, Instance: instance.ID, Public: instance.Public, Private: instance.Address,
		KeyName: instance.KeyName, User: said.User, HostKeys: said.HostKeys,
	}
	if said.InstanceID != instance.ID {
		h.User, h.HostKeys = "", nil // an earlier head node's
	}
	return h, nil
}

func headInstance(ctx context.Context, a *api.Account, name string) (api.Instance, error) {
	all, err := a.OfRole(ctx, name, manifest.RoleHead)
	if err != nil {
		return api.Instance{}, err
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
	return api.Instance{}, fmt.Errorf("cluster %s has no head node in %s; `muster status --cluster %s` says what there is, `muster up` makes it whole", name, a.Region, name)
}

// headSaid is the last word of the head node, empty if it has said none.
func headSaid(ctx context.Context, a *api.Account, r Record) (manifest.HeadStatus, error) {
	var s manifest.HeadStatus
	bucket := r.Bucket
	if bucket == "" {
		state, err := cloudformation.New(a.Config()).Describe(ctx, baseStack(r.Name))
		if errors.Is(err, cloudformation.ErrNoStack) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		bucket = found{baseStack(r.Name): state}.bucket(r.Name)
	}
	b, err := openBucket(ctx, a, bucket)
	if err == nil {
		err = readJSON(ctx, b, manifest.HeadKey(r.Name), &s)
	}
	if errors.Is(err, store.ErrNotFound) {
		return s, nil
	}
	return s, err
}

// runSSH runs a command line with our output and our input unless there are others, and passes
// its exit code on. If ctx ended, the cause of that is the error, and the exit code does
// not count.
func runSSH(ctx context.Context, line []string, p place.Program) error {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if p.Input != nil {
		cmd.Stdin = bytes.NewReader(p.Input)
	}
	if p.Output != nil {
		cmd.Stdout = p.Output
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return tie.Ended(err)
}

// StartSession starts a session of Session Manager and becomes the program that carries it.
func StartSession(ctx context.Context, region string, order api.SessionOrder) error {
	acc, err := api.Open(ctx, region)
	if err != nil {
		return err
	}
	session, err := acc.StartSession(ctx, order)
	if err != nil {
		return err
	}
	line, env, err := connect.Plugin(acc.Region, os.Getenv("AWS_PROFILE"), session)
	if err != nil {
		return err
	}
	return tie.Become(line, append(os.Environ(), env...))
}
