package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

type pushOptions struct {
	bucketFlags
	transferFlags
	data.PushOptions
	dryRun  bool
	verbose bool
}

func (a *app) dataPush() *cobra.Command {
	var o pushOptions
	c := &cobra.Command{
		Use:   "push SRC s3://BUCKET/PREFIX",
		Short: "Bring a directory to a bucket as a dataset",
		Long: `Push brings the files of the directory SRC, or the file SRC, below PREFIX. What is
there already does not move: files that have the size and time that they had when
they were pushed, and whose objects nobody has replaced since. --checksum reads
these, too, and sends those whose bytes differ. Every byte that is sent is read
once, and the bucket's place checks that it got the same. The dataset's manifest,
with the SHA-256 of each file, is put last.

Run it again after it was cut off, in whatever way: it goes on, and sends no file
and no finished part of a file again. A file that is written while it is read goes
again; one that cannot be sent fails the push, which sends all others and leaves
the manifest as it was.

Symbolic links are followed. Directories without files are not kept. PATTERNs are
paths below SRC: * is anything but a slash, ** any directories, and what matches a
directory means all that is in there.`,
		Example: "  muster data push ./dataset s3://my-bucket/dataset --make-bucket\n  muster data push /fsx/dataset s3://my-bucket/dataset --delete --exclude '**/*.tmp'\n  muster data push ./dataset s3://my-bucket/dataset --dry-run -v",
		Args:    twoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if isTarget(args[0]) {
				return fault.Usage(fmt.Errorf("%s is no directory: push brings a directory to a bucket; pull is the other way", page.Printable(args[0])))
			}
			to, err := parseTarget(args[1])
			if err != nil {
				return err
			}
			return a.push(c.Context(), args[0], to, o)
		},
	}
	o.bucketFlags.add(c)
	o.transferFlags.add(c)
	addFilter(c, &o.Filter)
	o.addOwn(c)
	return c
}

func (o *pushOptions) addOwn(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&o.MakeBucket, "make-bucket", false, "make the bucket if there is none")
	flags.BoolVar(&o.Delete, "delete", false, "delete what former pushes put and SRC has no more")
	flags.BoolVarP(&o.MayShrink, "yes", "y", false, "with --delete, also if fewer than half of the dataset's files are left")
	flags.StringVar(&o.Class, "storage-class", "", "the `CLASS` of storage, such as STANDARD_IA or INTELLIGENT_TIERING")
	flags.StringVar(&o.KMSKey, "sse-kms", "", "encrypt with KMS, by =`KEY` or the account's own key for S3")
	flags.Lookup("sse-kms").NoOptDefVal = "aws/s3"
	flags.BoolVar(&o.NoFollow, "no-follow", false, "leave symbolic links out")
	flags.BoolVar(&o.Checksum, "checksum", false, "read also the files whose size and time are unchanged, and send those whose bytes are not")
	flags.BoolVar(&o.dryRun, "dry-run", false, "say what would be done, and do nothing")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "with --dry-run, name each file")
}

// journalDir is where pushes keep what they have sent, in the folder of the clusters' run directories: no cluster can have its name.
const journalDir = "data.d"

func (a *app) push(ctx context.Context, source string, to target, o pushOptions) error {
	if err := o.Check(); err != nil {
		return fault.Usage(err)
	}
	if o.MakeBucket && !spec.NewBucket(to.bucket) {
		return fault.Usage(fmt.Errorf("S3 makes no bucket of the name %q: use 3 to 63 small letters, digits and hyphens", to.bucket))
	}
	if err := a.notOfMachines("push", source); err != nil {
		return err
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	progress := &data.Progress{}
	bucket, at, err := a.openBucket(ctx, o.bucketFlags, to, o.transferFlags, progress)
	if err != nil {
		return err
	}
	if err := a.checkClass(o.Class, at.Endpoint); err != nil {
		return err
	}
	p := data.Push{Bucket: bucket, Place: at.Endpoint + " " + to.bucket, Prefix: to.prefix, Source: source,
		State: filepath.Join(home, journalDir), Options: o.PushOptions, Progress: progress}
	if o.dryRun {
		return a.previewPush(ctx, p, to, o)
	}
	stop := a.watchData(progress)
	done, err := p.Run(ctx)
	stop()
	return a.showPushed(ctx, to, done, o.PushOptions, err)
}

// pushError says what to do about an error of a push.
func pushError(err error, to target) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w; is there a bucket %s? --make-bucket makes it", err, to.bucket)
	case errors.Is(err, data.ErrState):
		return fmt.Errorf("%w; see that MUSTER_HOME names a directory that you may write to", err)
	case errors.Is(err, data.ErrShrinks):
		return fmt.Errorf("%w, so nothing is deleted or committed; see whether all of the source is mounted, or say --yes if that is meant", err)
	case errors.Is(err, data.ErrNothing):
		return fmt.Errorf("%w; an empty dataset is of no use to anybody", err)
	case errors.Is(err, data.ErrSource):
		return fmt.Errorf("%w, so nothing is committed; mend them or leave them out with --exclude, and run the same again", err)
	}
	return err
}
