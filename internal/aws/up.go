package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/stack"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// UpOptions say what Up is to bring up.
type UpOptions struct {
	// Name is the cluster's, Home where this machine keeps its records, Version this
	// program's.
	Name, Home, Version string
	Account             *api.Account
	// Inventory is what the account has of what lint.Wanted names of the file.
	Inventory inventory.Inventory
	// File is the cluster file, checked for AWS, Path where it lies.
	File     *spec.File
	Path     string
	Workload *spec.Workload
	// Source and WorkloadSource are the files' bytes.
	Source, WorkloadSource []byte
	// PublicKey is the user's own, where the file names no key pair; it may be empty.
	PublicKey []byte
	// Address asks for our address in the internet.
	Address func(context.Context) (netip.Addr, error)
	// Confirm is shown the plan before anything that costs. Its error ends Up.
	Confirm func(*Plan) error
	// Programs are the files of muster's builds for Linux by architecture; nil is this
	// program itself, or what lies beside it.
	Programs map[string]string
	// Test says when a test job is run. Tested, if there is one, is told of it when it has run.
	Test   Test
	Tested func(place.TestJob)
	// HeadSilence is how long a head node may be silent; zero is 15 minutes.
	HeadSilence time.Duration
	Report      step.Reporter
}

// Up makes the cluster what its file says, be it new, half made when muster was cut off,
// or one that runs jobs. It ends when the head node runs what the
// file says and the nodes that should be there have answered.
func Up(ctx context.Context, o UpOptions) ([]step.Step, error) {
	if err := checkUp(o.Home, o.Name); err != nil {
		return nil, err
	}
	unlock, err := lock(o.Home, o.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	u := &up{UpOptions: o, driver: cloudformation.New(o.Account.Config()), steps: step.Series{Report: o.Report}, outputs: map[string]string{}}
	err = u.run(ctx)
	return u.steps.Done, err
}

type up struct {
	UpOptions
	steps  step.Series
	driver *cloudformation.Driver

	who    api.Identity
	stacks found
	before memory
	// former is the muster.yaml that the cluster has, nil if it has none that can be read.
	former *spec.Workload
	after  memory
	set    stack.Set
	facts  stack.Facts
	builds map[string]build
	plan   *Plan
	// proposals are change sets that were made for the plan.
	proposals []cloudformation.Proposal
	// outputs are those of the stacks so far.
	outputs map[string]string
	bucket  store.Store
	site    manifest.Site
	// newer says that the cluster's machines run another build of muster.
	newer bool
	// later are the static nodes whose capacity block has not begun.
	later []string
	// narrow are the stacks that were widened.
	narrow []*stack.Stack
}

func (u *up) run(ctx context.Context) error {
	if err := u.prepare(ctx); err != nil {
		return err
	}
	if err := u.confirm(ctx); err != nil {
		return err
	}
	for _, s := range u.actions() {
		if s.name == "take away what has left the file" && len(u.narrow) == 0 && !u.emptied() {
			continue
		}
		if err := u.steps.Do(s.name, func() (string, error) { return s.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// action is a step that changes something.
type action struct {
	name string
	do   func(context.Context) (string, error)
}

// actions are the steps in their order. A new head node finds what the cluster is when it
// starts. One that runs hears of something new when there is all that it starts nodes
// with, so that it never hears of a change that failed.
func (u *up) actions() []action {
	describe, cluster := action{"describe the cluster to its machines", u.describe}, action{"stack " + u.Name, u.cluster}
	if u.stacks[u.Name].Good() {
		describe, cluster = cluster, describe
	}
	return []action{
		{"key pair", u.key},
		{"stack " + baseStack(u.Name), u.base},
		{"upload programs and files", u.upload},
		{"stack " + storageStack(u.Name), u.storage},
		describe, cluster,
		{"head node", u.head},
		{"take away what has left the file", u.narrower},
		{"static nodes", u.static},
		{"test job", u.trial},
	}
}

// prepare looks and decides. It changes nothing.
func (u *up) prepare(ctx context.Context) error {
	if err := u.steps.Do("look at the account", func() (string, error) { return u.look(ctx) }); err != nil {
		return err
	}
	if err := u.steps.Do("look up what the file names", func() (string, error) { return u.ask(ctx) }); err != nil {
		return err
	}
	return u.steps.Do("compare with what is there", func() (string, error) { return u.compare(ctx) })
}

func (u *up) look(ctx context.Context) (string, error) {
	have := u.Inventory
	u.who = api.Identity{Account: have.Account, ARN: have.Caller, Partition: have.Partition}
	if r, err := RecordOf(u.Home, u.Name); err == nil && (r.Account != u.who.Account || r.Region != u.Account.Region) {
		return "", fmt.Errorf("cluster %s is in %s of account %s; take it down there first, or choose another name with --cluster", u.Name, r.Region, r.Account)
	}
	var err error
	if u.stacks, err = look(ctx, u.driver, u.Name); err != nil {
		return "", err
	}
	if err := u.rest(ctx); err != nil {
		return "", err
	}
	if err := u.open(ctx); err != nil {
		return "", err
	}
	if err := u.formerWorkload(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("account %s, %s, as %s", u.who.Account, u.Account.Region, u.who.ARN), nil
}

// open opens the bucket of a cluster that is there, and reads what it was made with.
func (u *up) open(ctx context.Context) error {
	name := u.stacks.bucket(u.Name)
	if name == "" {
		return nil
	}
	s, err := openBucket(ctx, u.Account, name)
	if err != nil {
		return err
	}
	u.bucket = s
	u.driver.Upload = func(ctx context.Context, stack string, template []byte) (string, error) {
		return uploadTemplate(ctx, u.Account, s, u.Name, name, stack, template)
	}
	if len(u.before.Images) > 0 {
		return nil
	}
	if err := readJSON(ctx, s, manifest.FactsKey(u.Name), &u.before); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

func (u *up) ask(ctx context.Context) (string, error) {
	file := u.File.Cluster
	if file == nil {
		return "", errors.New("the file has errors, or leaves instance types to a capacity reservation that was not looked up")
	}
	q := &asker{account: u.Account, have: u.Inventory, wanted: lint.Wanted(u.File), name: u.Name, file: file, workload: u.Workload, before: u.before, own: u.own}
	q.facts = stack.Facts{Name: u.Name, Region: u.Account.Region, Partition: u.who.Partition, Account: u.who.Account}
	if err := q.ask(ctx); err != nil {
		return "", err
	}
	u.facts, u.after = q.facts, q.after
	if err := u.programs(ctx, q.architectures()); err != nil {
		return "", err
	}
	u.keyName()
	var note string
	if u.facts.Caller, note = caller(ctx, file, u.Address); note != "" {
		u.Report.Note(note)
	}
	return count.Of(len(u.facts.Subnets), "subnet") + ", " + count.Of(len(u.facts.Images), "image"), nil
}

// keyName is the key pair's: the file's, or one of the user's own key. A cluster
// keeps the one that it was made with: another would replace its head node.
func (u *up) keyName() {
	switch {
	case u.File.Cluster.HeadNode.SSH.KeyName != "":
	case len(u.before.Images) > 0:
		u.facts.KeyName = u.before.KeyName
	case len(u.PublicKey) > 0:
		u.facts.KeyName = "muster-" + u.Name
	}
	u.after.KeyName = u.facts.KeyName
}

// programs are muster's builds. A head node that runs takes up a newer one by itself:
// its template keeps the one that it was made with, for another would make it anew.
func (u *up) programs(ctx context.Context, archs []string) error {
	u.facts.Programs = map[string]manifest.Program{}
	u.builds, u.after.Version = map[string]build{}, u.Version
	keeps := u.keeps(ctx, archs)
	if keeps {
		u.facts.HeadProgram = cmp.Or(u.before.HeadProgram, u.before.Programs[u.facts.Images[""].Arch])
		u.after.HeadProgram = u.facts.HeadProgram
	}
	builds, err := builds(archs, u.UpOptions.Programs)
	switch {
	case err != nil && keeps:
		u.facts.Programs, u.after.Version = u.before.Programs, u.before.Version
		u.Report.Note(fmt.Sprintf("the cluster goes on with muster %s: %v", u.before.Version, err))
	case err != nil:
		return err
	default:
		u.builds = builds
		for arch, b := range builds {
			u.facts.Programs[arch] = b.program
		}
	}
	u.newer = keeps && !maps.Equal(u.facts.Programs, u.before.Programs)
	u.after.Programs = u.facts.Programs
	return nil
}

// keeps says that the head node has come up with the programs of before, and that
// they are for all machines.
func (u *up) keeps(ctx context.Context, archs []string) bool {
	if u.bucket == nil || !u.stacks[u.Name].Good() {
		return false
	}
	for _, arch := range archs {
		if u.before.Programs[arch].Key == "" {
			return false
		}
	}
	var head manifest.HeadStatus
	return readJSON(ctx, u.bucket, manifest.HeadKey(u.Name), &head) == nil && head.Revision != ""
}

// confirm shows the plan. What it was made of is taken back unless it is followed.
func (u *up) confirm(ctx context.Context) error {
	err := u.Confirm(u.plan)
	if err == nil {
		return nil
	}
	return errors.Join(err, u.takeBack(ctx))
}

func (u *up) takeBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, p := range u.proposals {
		errs = append(errs, u.driver.TakeBack(ctx, p))
	}
	return errors.Join(errs...)
}

// estimate is what the cluster costs.
func (u *up) estimate() (*plan.Estimate, error) {
	return plan.New(plan.Question{Cluster: u.File.Cluster, Workload: u.Workload})
}
