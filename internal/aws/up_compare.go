package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/stack"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// compare decides the stacks and says what becomes of those that are there.
func (u *up) compare(ctx context.Context) (string, error) {
	var err error
	if u.set, err = stack.New(u.File.Cluster, u.Workload, u.facts); err != nil {
		return "", err
	}
	e, err := u.estimate()
	if err != nil {
		return "", err
	}
	u.plan = &Plan{
		Cluster: u.Name, Region: u.Account.Region, Account: u.who.Account, Caller: u.who.ARN, New: len(u.stacks) == 0, PriceRegion: e.Price.Region,
	}
	u.plan.Always, u.plan.Full = price(e, u.set)
	u.plan.Trial = trialOf(u.File.Cluster, u.Test)
	if u.newer {
		u.plan.Program = u.after.Version
	}
	u.plan.Accounts = account.Lines(account.Foreseen(u.Name, u.former, u.Workload))
	u.plan.Notes = lint.Ignored(u.File)
	if u.plan.New && u.facts.KeyName == "" && u.File.Cluster.HeadNode.SSH.KeyName == "" {
		u.plan.Notes = append(u.plan.Notes, "There is no SSH key: only `muster ssh` will reach the head node, by Session Manager, and a key cannot be added later. `ssh-keygen -t ed25519` makes one.")
	}
	if err := u.policies(ctx); err != nil {
		return "", err
	}
	if err := u.volumes(ctx); err != nil {
		return "", err
	}
	if err := u.planStacks(ctx); err != nil {
		return "", errors.Join(err, u.takeBack(ctx))
	}
	var lost []string
	for _, one := range u.plan.Stacks {
		lost = append(lost, losses(one)...)
	}
	if len(lost) > 0 {
		return "", errors.Join(&Refused{Reasons: lost}, u.takeBack(ctx))
	}
	return u.plan.summary(), nil
}

// planStacks says what becomes of each stack.
func (u *up) planStacks(ctx context.Context) error {
	for _, s := range u.set.Stacks() {
		one, err := u.planOf(ctx, s)
		if err != nil {
			return err
		}
		u.plan.Stacks = append(u.plan.Stacks, one)
	}
	if !u.emptied() {
		return nil
	}
	one, err := u.planEmptied(ctx)
	u.plan.Stacks = append(u.plan.Stacks, one)
	return err
}

func (p *Plan) summary() string {
	if p.Empty() {
		return "nothing to change"
	}
	n := 0
	for _, s := range p.Stacks {
		n += len(s.Changes)
	}
	text := count.Of(n, "resource") + " to add or change"
	if len(p.Accounts) > 0 {
		text += ", " + count.Of(len(p.Accounts), "change") + " of Slurm's accounts"
	}
	return text
}

// policies holds the new file against the one that the cluster was made of.
func (u *up) policies(ctx context.Context) error {
	if u.bucket == nil {
		return nil
	}
	old, err := readObject(ctx, u.bucket, manifest.FileKey(u.Name))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, made := u.stacks[u.Name]; !made {
		return nil // no machine has seen the old file
	}
	u.plan.Changes = plan.Changes(spec.OpenText("the cluster's file", old, spec.Options{}), u.File)
	if len(u.plan.Changes) == 0 {
		return nil
	}
	instances, err := u.Account.Instances(ctx, u.Name)
	if err != nil {
		return err
	}
	running := map[string]int{}
	for _, i := range instances {
		if !i.Gone() {
			running[i.Role]++
		}
	}
	if reasons := refusals(u.plan.Changes, running[manifest.RoleCompute], running[manifest.RoleLogin]); len(reasons) > 0 {
		return &Refused{Reasons: reasons}
	}
	return nil
}

// planOf says what becomes of a stack. For one that is there a change set is made,
// which is free. A stack that depends on stacks that are still to be made or changed
// is shown by its own list.
func (u *up) planOf(ctx context.Context, s *stack.Stack) (StackPlan, error) {
	state, there := u.stacks[s.Name]
	one := StackPlan{Name: s.Name, Action: "create"}
	switch {
	case !there || state.Status == "REVIEW_IN_PROGRESS":
		one.Changes = additions(u.set, s.Name)
		return one, nil
	case !state.Good():
		one.Action, one.Why = "settle", "it is "+state.Status
		return one, nil
	}
	in, err := u.input(s)
	if err != nil {
		one.Action, one.Why = "change", "what it changes is known once the stacks before it are changed"
		return one, nil
	}
	p, err := u.driver.Propose(ctx, in)
	if err != nil {
		return one, err
	}
	maps.Copy(u.outputs, state.Outputs)
	if p.ID == "" {
		one.Action = "keep"
		return one, nil
	}
	u.proposals = append(u.proposals, p)
	one.Action, one.Changes = "change", inWords(u.set, s.Name, p.Changes)
	if len(p.Changes) == 0 {
		one.Why = "its outputs or tags change"
	}
	return one, nil
}

// input is a stack with the values of the stacks before it.
func (u *up) input(s *stack.Stack) (cloudformation.Stack, error) {
	body, err := s.Body()
	if err != nil {
		return cloudformation.Stack{}, err
	}
	in := cloudformation.Stack{Name: s.Name, Template: body, Parameters: map[string]string{}, Tags: maps.Clone(s.Tags)}
	if in.Tags == nil {
		in.Tags = map[string]string{}
	}
	in.Tags[clusterTag] = u.Name
	if own := u.File.Cluster.CustomS3Bucket; own != "" && s == u.set.Base {
		in.Tags[bucketTag] = own
	}
	for _, name := range s.Inputs {
		value, ok := u.outputs[name]
		if !ok {
			return in, fmt.Errorf("stack %s needs the output %s, which no stack before it has", s.Name, name)
		}
		in.Parameters[name] = value
	}
	return in, nil
}
