package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

type restoreOptions struct {
	bucketFlags
	transferFlags
	checkpoint      string
	step            int64
	replace, dryRun bool
}

func (a *app) dataRestore() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore s3://BUCKET/PREFIX DIR",
		Short: "Bring the newest whole checkpoint to a directory",
		Long: `Restore finds the checkpoints below the prefix, of torch, DeepSpeed, Megatron-LM,
Hugging Face, Lightning, NeMo, with a marker or without, and brings the newest of
which all files are there and none is known to be cut off: to DIR, with the path
that it has below the prefix. It says which ones it passed over, and why.

Each file is proven by its stored checksum. The checkpoint has its name only when
all of it is there, and latest or the like leads to it after that. What was cut
off goes on where it was when restore runs again. A checkpoint that is there and
differs stays, and so does a pointer that leads to another one, unless --replace
is given.`,
		Example: "  muster data restore s3://my-bucket/models/large /fsx/models/large\n  muster data restore s3://my-bucket/models/large /fsx/models/large --step 4000 --dry-run",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			from, err := parseTarget(args[0])
			if err != nil {
				return err
			}
			if isTarget(args[1]) {
				return fault.Usage(fmt.Errorf("%s is no directory: restore brings a checkpoint from a bucket to a directory", page.Printable(args[1])))
			}
			if !c.Flags().Changed("step") {
				o.step = checkpoint.NoStep
			} else if o.step < 0 || o.checkpoint != "" {
				return fault.Usage(errors.New("--step is a number from 0 on, and goes without --checkpoint"))
			}
			return a.restore(c.Context(), from, args[1], o)
		},
	}
	o.bucketFlags.add(c)
	o.transferFlags.add(c)
	c.Flags().StringVar(&o.checkpoint, "checkpoint", "", "the one of this `NAME`, or path below the prefix")
	c.Flags().Int64Var(&o.step, "step", 0, "the one of this `STEP`")
	c.Flags().BoolVar(&o.replace, "replace", false, "put it in the place of one that differs, and lead pointers to it that lead to another one")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be brought, and bring nothing")
	return c
}

// restoreAnswer is what `muster data restore -o json` prints.
type restoreAnswer struct {
	From       string            `json:"from"`
	Checkpoint string            `json:"checkpoint"`
	Step       *int64            `json:"step,omitempty"`
	Layout     string            `json:"layout"`
	Whole      string            `json:"whole"`
	Checked    int               `json:"lengths_checked"` // files that are as long as their contents or an index say
	Doubt      string            `json:"doubt,omitempty"`
	Path       string            `json:"path"`
	DryRun     bool              `json:"dry_run"`
	Here       bool              `json:"here"`
	Differs    bool              `json:"differs"` // what is there is another one, and stays
	Size       fileCount         `json:"size"`
	Fetched    fileCount         `json:"fetched"`
	Kept       fileCount         `json:"kept"`
	Unproven   int64             `json:"unproven"`
	Pointers   []restore.Pointer `json:"pointers"`
	Passed     []restore.Passed  `json:"passed_over"`
	Seconds    float64           `json:"seconds"`
}

func (a *app) restore(ctx context.Context, from target, dir string, o restoreOptions) error {
	began := time.Now()
	if err := a.notOfMachines("restore", dir); err != nil {
		return err
	}
	bucket, progress, stop, err := a.beginData(ctx, o.bucketFlags, from, o.transferFlags)
	if err != nil {
		return err
	}
	defer stop()
	view, err := restore.Look(ctx, bucket, from.prefix, began)
	if err != nil {
		return err
	}
	found, passed, err := view.Choose(ctx, restore.Want{Name: o.checkpoint, Step: o.step})
	if err != nil {
		stop()
		return a.noCheckpoint(from, passed, err)
	}
	a.tellPassed(passed)
	answer := newRestoreAnswer(from, found, passed)
	answer.DryRun = o.dryRun
	bring := &restore.Bring{View: view, Found: found, Dir: dir, Replace: o.replace, Progress: progress}
	answer.Path = bring.Path()
	if o.dryRun {
		err = answer.look(ctx, bring)
	} else {
		err = answer.run(ctx, bring)
	}
	if err != nil {
		return err
	}
	stop()
	answer.Seconds = time.Since(began).Seconds()
	return a.showRestored(answer)
}

func newRestoreAnswer(from target, f *restore.Found, passed []restore.Passed) restoreAnswer {
	r := restoreAnswer{From: from.String(), Checkpoint: f.Dir, Layout: f.Layout, Whole: f.Proof, Checked: f.Checked, Doubt: f.Doubt,
		Size: fileCount{int64(len(f.Files)), f.Bytes}, Pointers: []restore.Pointer{}, Passed: append([]restore.Passed{}, passed...)}
	if f.Step != checkpoint.NoStep {
		r.Step = &f.Step
	}
	return r
}

// look says how what is there stands, and brings nothing.
func (r *restoreAnswer) look(ctx context.Context, b *restore.Bring) error {
	here, err := b.Look(ctx)
	r.Here, r.Differs = here == restore.Equal, here == restore.Different && !b.Replace
	return err
}

// run brings the checkpoint. That another one is there, and stays, is no failure.
func (r *restoreAnswer) run(ctx context.Context, b *restore.Bring) error {
	done, err := b.Run(ctx)
	if r.Differs = errors.Is(err, restore.ErrDiffers); err != nil && !r.Differs {
		return err
	}
	r.take(done)
	return nil
}

func (r *restoreAnswer) take(done restore.Brought) {
	r.Here, r.Unproven = done.Here, done.Unproven
	r.Fetched, r.Kept = fileCount{done.Files, done.Bytes}, fileCount{done.KeptFiles, done.KeptBytes}
	r.Pointers = append(r.Pointers, done.Pointers...)
}

// tellPassed says which checkpoints were not taken.
func (a *app) tellPassed(passed []restore.Passed) {
	for _, p := range passed {
		a.note("passed over %s: %s", page.Printable(p.Checkpoint), page.Printable(p.Why))
	}
}

// noCheckpoint says why none was taken, and how to say which one is meant.
func (a *app) noCheckpoint(from target, passed []restore.Passed, err error) error {
	a.tellPassed(passed)
	if several, ok := errors.AsType[restore.Several](err); ok {
		return fmt.Errorf("%s: %w; %s", from, several, oneOf(from, several))
	}
	for _, p := range passed {
		if p.Doubt {
			return fmt.Errorf("%s: %w; --checkpoint %s takes that one all the same", from, err, page.Printable(p.Checkpoint))
		}
	}
	return fmt.Errorf("%s: %w", from, err)
}

// oneOf is how to say which of several models is meant. What is right below the prefix has no prefix of its own.
func oneOf(from target, s restore.Several) string {
	if s.Runs[0] == "." {
		return "--checkpoint says which one is meant: " + page.Printable(strings.Join(s.Newest, ", "))
	}
	return fmt.Sprintf("say s3://BUCKET/PREFIX of one of them, as %s/%s, or its --checkpoint", from, page.Printable(s.Runs[0]))
}

// showRestored answers. A pointer that leads elsewhere is to be looked at.
func (a *app) showRestored(r restoreAnswer) error {
	if r.Doubt != "" {
		a.note("it is taken as it was asked for by name, but %s", page.Printable(r.Doubt))
	}
	if r.Unproven > 0 {
		a.note("%s came without a stored checksum: only the size is known to be right", count.Of(r.Unproven, "file"))
	}
	if err := a.answer(r, func() error {
		_, err := fmt.Fprintln(a.out, page.Printable(r.text()))
		return err
	}); err != nil {
		return err
	}
	if r.Differs {
		a.note("%s: %v, and stays; --replace puts the one of the bucket in its place", page.Printable(r.Path), restore.ErrDiffers)
		return fault.Exit(fault.ExitLook)
	}
	for _, p := range r.Pointers {
		if p.State == restore.Kept {
			a.note("%s leads to %s, which is there, and stays; --replace leads it to %s", page.Printable(p.Path), page.Printable(p.Names), page.Printable(r.Checkpoint))
			return fault.Exit(fault.ExitLook)
		}
	}
	return nil
}

func (r restoreAnswer) text() string {
	what := fmt.Sprintf("%s (%s, %s, %s; %s; %s)", r.Path, r.Layout, count.Of(r.Size.Files, "file"), count.Bytes(r.Size.Bytes), r.Whole, r.lengths())
	switch {
	case r.Differs:
		return what + ": another one is there, and stays"
	case r.Here:
		what += ": there already, byte for byte"
	case r.DryRun:
		return what + ": to fetch"
	default:
		what += ": " + r.came()
	}
	for _, p := range r.Pointers {
		if p.State != restore.Kept {
			what += fmt.Sprintf("; %s leads to it", p.Path)
		}
	}
	return what
}

// lengths says how many files are known not to be cut off. Those of other forms do not say how long they have to be.
func (r restoreAnswer) lengths() string {
	if r.Checked == 0 {
		return "no file says how long it has to be"
	}
	return fmt.Sprintf("length checked of %d of %s", r.Checked, count.Of(r.Size.Files, "file"))
}

// came says which files came, and which of them nothing proves.
func (r restoreAnswer) came() string {
	text, all := count.Of(r.Fetched.Files, "file")+" fetched", r.Fetched.Files+r.Kept.Files
	if r.Unproven == 0 {
		text += " and proven"
	}
	if r.Kept.Files > 0 {
		text += fmt.Sprintf(", %d from before", r.Kept.Files)
	}
	if r.Unproven > 0 {
		text += fmt.Sprintf("; of all %d are proven and %d not", all-r.Unproven, r.Unproven)
	}
	return text
}
