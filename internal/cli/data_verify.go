package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

type verifyOptions struct {
	bucketFlags
	transferFlags
	data.Filter
	head, full bool
	sample     int
	seed       uint64
	seeded     bool
	sampled    bool
	run, keep  string
}

func (a *app) dataVerify() *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify [DIR] s3://BUCKET/PREFIX",
		Short: "Prove that a bucket has what it should",
		Long: `Verify compares a dataset's manifest with its objects: with --head, which is what
it does if nothing else is said, by the sizes, versions and checksums that the
bucket's place knows; with --full by reading every byte; with --sample N by
fetching N files that chance chooses, and unpacking those that are archives.

With a directory DIR it compares that with the bucket, both ways: what is missing,
different and too much. Every byte of DIR is read; a file of the same size and
time may have other bytes. DIR may be the one file that was pushed. The objects
need no manifest, so it does for exports, too. --full reads the objects as well.

--run CMD ends --sample, or the comparison of DIR, with your own validator, whose
failure is the command's: it runs CMD --data-dir D, where D is the sample, or DIR.`,
		Example: "  muster data verify s3://my-bucket/dataset\n  muster data verify s3://my-bucket/dataset --sample 3 --run ./validate_dataset.py\n  muster data verify ./dataset s3://my-bucket/dataset --full",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			o.seeded, o.sampled = c.Flags().Changed("seed"), c.Flags().Changed("sample")
			dir, at, err := verifyArgs(args)
			if err == nil {
				err = o.check(dir)
			}
			if err != nil {
				return err
			}
			return a.verifyData(c.Context(), dir, at, o)
		},
	}
	o.bucketFlags.add(c)
	o.transferFlags.add(c)
	addFilter(c, &o.Filter)
	c.Flags().BoolVar(&o.head, "head", false, "compare what the bucket's place says of the objects (default)")
	c.Flags().BoolVar(&o.full, "full", false, "read every byte")
	c.Flags().IntVar(&o.sample, "sample", 0, "fetch `N` files that chance chooses")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "choose the files of --sample that were chosen with this `NUMBER`")
	c.Flags().StringVar(&o.keep, "keep-sample", "", "put the sample to this new `DIR`, and leave it there")
	c.Flags().StringVar(&o.run, "run", "", "the `CMD` that validates the data")
	return c
}

func verifyArgs(args []string) (dir string, at target, err error) {
	last := args[len(args)-1]
	if len(args) == 2 {
		if dir = args[0]; isTarget(dir) || !isTarget(last) {
			return "", target{}, fault.Usage(errors.New("say the directory first, then s3://BUCKET/PREFIX"))
		}
	}
	at, err = parseTarget(last)
	return dir, at, err
}

func (o *verifyOptions) check(dir string) error {
	why := ""
	switch {
	case o.head && o.full || o.sampled && (o.head || o.full):
		why = "--head, --full and --sample are different proofs: choose one of them"
	case o.sampled && o.sample <= 0:
		why = "--sample takes a number of files above 0"
	case dir != "" && o.sample > 0:
		why = "a directory is compared as a whole: leave --sample or the directory out"
	case o.run != "" && dir == "" && o.sample == 0:
		why = "--run needs files: give --sample N, or the directory that has them"
	case (o.keep != "" || o.seeded) && o.sample == 0:
		why = "--keep-sample and --seed are about a sample: give --sample N"
	}
	if why != "" {
		return fault.Usage(errors.New(why))
	}
	if err := o.Check(); err != nil {
		return fault.Usage(err)
	}
	if err := (data.Validator{Command: o.run}).Check(); err != nil {
		return fault.Usage(err)
	}
	if !o.seeded {
		o.seed = rand.Uint64N(1_000_000)
	}
	return nil
}

func (a *app) verifyData(ctx context.Context, dir string, at target, o verifyOptions) error {
	began := time.Now()
	bucket, progress, stop, err := a.beginData(ctx, o.bucketFlags, at, o.transferFlags)
	if err != nil {
		return err
	}
	defer stop()
	set, err := data.Open(ctx, bucket, at.prefix, at.String())
	if dir != "" && errors.Is(err, data.ErrNone) {
		set, err = nil, noBucket(ctx, bucket, at)
	}
	if err != nil {
		return noDataset(ctx, bucket, at, err)
	}
	if set != nil {
		defer set.Close()
	}
	v := proving{a, at, dir, o, bucket, set, progress, stop}
	answer, err := v.run(ctx)
	stop()
	if err != nil {
		return err
	}
	answer.Dataset, answer.Manifest, answer.Seconds = at.String(), set != nil, time.Since(began).Seconds()
	return a.showProven(answer)
}

// proving is a verification under way.
type proving struct {
	app      *app
	at       target
	dir      string
	o        verifyOptions
	bucket   *store.S3
	set      *data.Dataset
	progress *data.Progress
	quiet    func() // ends the progress, before a validator speaks
}

func (v proving) run(ctx context.Context) (provenAnswer, error) {
	switch {
	case v.dir != "":
		return v.directory(ctx)
	case v.o.sample > 0:
		return v.sample(ctx)
	}
	check := data.Verify{Dataset: v.set, Wanted: v.o.Wanted, Progress: v.progress}
	mode, judge := "head", check.Heads
	v.progress.Begin("compare")
	if v.o.full {
		mode, judge = "full", check.Full
		v.progress.Begin("read")
		v.progress.Expect(0, v.set.Head.Bytes)
	}
	v.progress.Expect(v.set.Head.Files, 0)
	v.progress.Counted()
	got, err := judge(ctx)
	return provenAnswer{Mode: mode, Proven: fileCount{got.Files, got.Bytes}, Unproven: got.Unproven, Extra: got.Extra.List, Problems: got.Problems.List,
		Counts: provenCounts{Extra: got.Extra.All, Problems: got.Problems.All}, OK: got.Problems.All == 0}, err
}

func (v proving) directory(ctx context.Context) (provenAnswer, error) {
	v.progress.Begin("compare")
	got, err := (&data.Compare{Dir: v.dir, Bucket: v.bucket, Prefix: v.at.prefix, Dataset: v.set, Full: v.o.full, Wanted: v.o.Wanted, Progress: v.progress}).Run(ctx)
	answer := provenAnswer{Mode: "directory", Dir: v.dir, OK: got.Same(), Proven: fileCount{got.Files, got.Bytes}, Unproven: got.Unproven,
		Missing: got.Missing.List, Extra: got.Extra.List, Problems: got.Different.List,
		Besides: got.Besides.List, Counts: provenCounts{got.Missing.All, got.Extra.All, got.Different.All, got.Besides.All}, leftOut: got.Passing}
	if err == nil && answer.OK {
		err = v.validate(ctx, v.dir, &answer)
	}
	return answer, err
}

func (v proving) sample(ctx context.Context) (answer provenAnswer, err error) {
	dir := v.o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "muster-sample-"); err != nil {
			return answer, v.noRoom(err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	v.app.note("the sample is that of --seed %d", v.o.seed)
	got, err := (&data.Sample{Dataset: v.set, Files: v.o.sample, Seed: v.o.seed, Dir: dir, Wanted: v.o.Wanted, Progress: v.progress}).Run(ctx)
	answer = provenAnswer{Mode: "sample", Dir: v.o.keep, OK: got.Problems.All == 0, Seed: &v.o.seed, Sample: got.Paths, Unpacked: got.Unpacked,
		Proven: fileCount{int64(len(got.Paths)) - got.Problems.All, got.Bytes}, Problems: got.Problems.List,
		Counts: provenCounts{Problems: got.Problems.All}, leftOut: got.LeftOut}
	if err == nil && answer.OK {
		err = v.validate(ctx, dir, &answer)
	}
	return answer, v.noRoom(err)
}

// noRoom says what to do where the disk was full.
func (v proving) noRoom(err error) error {
	switch {
	case whole.NoRoom(err) == nil:
		return err
	case v.o.keep != "":
		return fmt.Errorf("%w; choose another directory for --keep-sample, or make room in this one", err)
	}
	return fmt.Errorf("%w; choose a directory that has room by TMPDIR=DIR or --keep-sample DIR", err)
}

// validate runs the user's validator, if there is one. What it says goes to stderr.
func (v proving) validate(ctx context.Context, dir string, answer *provenAnswer) error {
	if v.o.run == "" {
		return nil
	}
	v.quiet()
	answer.Validator = v.o.run
	err := data.Validator{Command: v.o.run, Dir: dir, Out: v.app.err}.Run(ctx)
	if refused, ok := errors.AsType[*data.Refused](err); ok && ctx.Err() == nil {
		answer.OK, answer.ValidatorExit = false, &refused.Code
		fmt.Fprintln(v.app.err, "muster: "+page.Printable(refused.Error()))
		return nil
	}
	return err
}
