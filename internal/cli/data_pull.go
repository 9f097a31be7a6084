package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
)

type pullOptions struct {
	bucketFlags
	transferFlags
	data.Filter
	delete, dryRun, yes, verbose bool
}

func (a *app) dataPull() *cobra.Command {
	var o pullOptions
	c := &cobra.Command{
		Use:   "pull s3://BUCKET/PREFIX DIR",
		Short: "Bring a dataset to a directory",
		Long: `Pull brings the files of a dataset to the directory DIR. Files that have the size
and time of the dataset's are taken for the same; the others are fetched, several
at once, and every byte is compared with the manifest's checksums before a file
has its name. Times and permissions are those of the dataset.

What was cut off goes on where it was when pull runs again. A dataset that is
being pushed is not pulled. PATTERNs are those of push.`,
		Example: "  muster data pull s3://my-bucket/dataset ./dataset\n  muster data pull s3://my-bucket/dataset /fsx/dataset --delete --dry-run",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			from, err := parseTarget(args[0])
			if err != nil {
				return err
			}
			if err := o.Check(); err != nil {
				return fault.Usage(err)
			}
			if isTarget(args[1]) {
				return fault.Usage(fmt.Errorf("%s is no directory: pull brings a dataset from a bucket to a directory; push is the other way", page.Printable(args[1])))
			}
			err = a.pull(c.Context(), from, args[1], o)
			if errors.Is(err, store.ErrCredentials) {
				a.note("what was fetched stays; the same command goes on with it")
			}
			return err
		},
	}
	o.bucketFlags.add(c)
	o.transferFlags.add(c)
	addFilter(c, &o.Filter)
	c.Flags().BoolVar(&o.delete, "delete", false, "delete the files of DIR that the dataset does not have")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be done, and do nothing")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "with --dry-run, name every file that would be fetched or deleted")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return c
}

// addFilter adds the flags that say which files are meant.
func addFilter(c *cobra.Command, f *data.Filter) {
	c.Flags().StringArrayVar(&f.Include, "include", nil, "take only what matches the `PATTERN`; may be repeated")
	c.Flags().StringArrayVar(&f.Exclude, "exclude", nil, "leave out what matches the `PATTERN`; may be repeated")
}

// pullAnswer is what `muster data pull -o json` prints.
type pullAnswer struct {
	Dataset   string         `json:"dataset"`
	Committed time.Time      `json:"committed"`
	Dir       string         `json:"dir"`
	DryRun    bool           `json:"dry_run"`
	Fetched   fileCount      `json:"fetched"`
	Kept      fileCount      `json:"kept"`
	Deleted   fileCount      `json:"deleted"`
	Failed    int64          `json:"failed"`
	Problems  []data.Problem `json:"problems"`
	Seconds   float64        `json:"seconds"`
}

type fileCount struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

func (a *app) pull(ctx context.Context, from target, dir string, o pullOptions) error {
	began := time.Now()
	if err := a.notOfMachines("pull", dir); err != nil {
		return err
	}
	bucket, progress, stop, err := a.beginData(ctx, o.bucketFlags, from, o.transferFlags)
	if err != nil {
		return err
	}
	defer stop()
	set, err := data.Open(ctx, bucket, from.prefix, from.String())
	if err != nil {
		return noDataset(ctx, bucket, from, err)
	}
	defer set.Close()
	p := &data.Pull{Dataset: set, Dir: dir, Wanted: o.Wanted, Progress: progress}
	answer := pullAnswer{Dataset: from.String(), Committed: set.Head.Committed, Dir: dir, DryRun: o.dryRun, Problems: []data.Problem{}}
	if o.dryRun && o.verbose {
		stop() // a line that changes would get in the way of the names
	}
	todo, err := p.Look(ctx, a.toldPull("fetch", o))
	if err != nil {
		return err
	}
	if o.delete {
		if answer.Deleted, err = extra(ctx, p, a.toldPull("delete", o)); err != nil {
			return err
		}
	}
	answer.Fetched, answer.Kept = fileCount{todo.Files, todo.Bytes}, fileCount{todo.KeptFiles, todo.KeptBytes}
	if !o.dryRun {
		stop()
		if err := a.askPull(todo, answer, o); err != nil {
			return err
		}
		stop = a.watchData(progress)
		err = doPull(ctx, p, todo, &answer, time.Now())
		stop()
		if err != nil {
			return err
		}
	}
	answer.Seconds = time.Since(began).Seconds()
	return a.answerFiles(answer, answer.Problems, answer.Failed)
}

// toldPull names what would be done about a file, if that was asked for.
func (a *app) toldPull(deed string, o pullOptions) func(path string) error {
	return func(path string) error {
		if !o.dryRun || !o.verbose || a.output == "json" {
			return nil
		}
		_, err := fmt.Fprintln(a.out, deed, page.Printable(path))
		return err
	}
}

// extra counts what the dataset does not have.
func extra(ctx context.Context, p *data.Pull, tell func(path string) error) (fileCount, error) {
	var n fileCount
	for f, err := range p.Extra(ctx) {
		if err != nil {
			return n, err
		}
		if err := tell(f.Path); err != nil {
			return n, err
		}
		n.Files++
		n.Bytes += f.SizeBytes
	}
	return n, nil
}

// askPull asks before something is deleted, and where the disk looks too small: a file system that compresses may hold more.
func (a *app) askPull(todo data.Todo, answer pullAnswer, o pullOptions) error {
	if o.yes {
		return nil
	}
	if todo.FreeBytes >= 0 && todo.Bytes > todo.FreeBytes {
		lack := fmt.Sprintf("%s are to come, and %s has room for %s", count.Bytes(todo.Bytes), answer.Dir, count.Bytes(todo.FreeBytes))
		if err := a.confirm(lack + ". Begin all the same?"); err != nil {
			return fmt.Errorf("%s: %w", lack, err)
		}
	}
	if answer.Deleted.Files == 0 {
		return nil
	}
	return a.confirm(fmt.Sprintf("Delete %s, %s, of %s that the dataset does not have?", count.Of(answer.Deleted.Files, "file"), count.Bytes(answer.Deleted.Bytes), answer.Dir))
}

// doPull fetches, and deletes when all is there.
func doPull(ctx context.Context, p *data.Pull, todo data.Todo, answer *pullAnswer, asked time.Time) error {
	p.Progress.Begin("fetch")
	p.Progress.Expect(todo.Files, todo.Bytes)
	p.Progress.Counted()
	got, err := p.Run(ctx)
	answer.Fetched, answer.Kept = fileCount{got.Files, got.Bytes}, fileCount{got.KeptFiles, got.KeptBytes}
	answer.Problems, answer.Failed = append(answer.Problems, got.Problems.List...), got.Problems.All
	wanted := answer.Deleted.Files > 0
	answer.Deleted = fileCount{}
	if err != nil || !wanted || answer.Failed > 0 {
		return err
	}
	answer.Deleted.Files, answer.Deleted.Bytes, err = p.Delete(ctx, asked)
	return err
}

func (p pullAnswer) text() string {
	fetched := "fetched and proven"
	if p.DryRun {
		fetched = "to fetch"
	}
	text := fmt.Sprintf("%s, %s %s; %s there already", count.Of(p.Fetched.Files, "file"), count.Bytes(p.Fetched.Bytes), fetched, count.Of(p.Kept.Files, "file"))
	switch {
	case p.Deleted.Files > 0 && p.DryRun:
		text += fmt.Sprintf("; %s to delete", count.Of(p.Deleted.Files, "file"))
	case p.Deleted.Files > 0:
		text += fmt.Sprintf("; %s deleted", count.Of(p.Deleted.Files, "file"))
	}
	if p.Failed > 0 {
		text += fmt.Sprintf("; %s failed", count.Of(p.Failed, "file"))
	}
	return page.Printable(text)
}
