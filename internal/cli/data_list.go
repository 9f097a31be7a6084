package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
)

func (a *app) dataList() *cobra.Command {
	var at bucketFlags
	var files bool
	c := &cobra.Command{
		Use:   "list [s3://BUCKET[/PREFIX]]",
		Short: "List buckets, datasets, and what is in them",
		Long: `List shows the buckets; with s3://BUCKET the datasets that are in it, up to two
levels below; with the prefix of a dataset whether it is whole, when it was
committed, and its folders. Of a prefix that is no dataset it counts the objects.`,
		Example: "  muster data list\n  muster data list s3://my-bucket\n  muster data list s3://my-bucket/dataset --files",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && files {
				return fault.Usage(errors.New("--files needs s3://BUCKET/PREFIX: whose files?"))
			}
			if len(args) == 0 {
				return a.listBuckets(c.Context(), at)
			}
			t, err := parseTarget(args[0])
			if err != nil {
				return err
			}
			return a.listTarget(c.Context(), at, t, files)
		},
	}
	at.add(c)
	c.Flags().BoolVar(&files, "files", false, "list each file")
	return c
}

// bucketsAnswer is what `muster data list -o json` prints.
type bucketsAnswer struct {
	Buckets []string `json:"buckets"`
}

func (a *app) listBuckets(ctx context.Context, at bucketFlags) error {
	config, err := a.bucketPlace(ctx, at)
	if err != nil {
		return err
	}
	names, err := store.Buckets(ctx, config)
	if err != nil {
		return err
	}
	return a.answer(bucketsAnswer{append([]string{}, names...)}, func() error {
		for _, name := range names {
			if _, err := fmt.Fprintln(a.out, "s3://"+page.Printable(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// datasetsAnswer is what `muster data list s3://BUCKET -o json` prints, if that is no dataset itself.
type datasetsAnswer struct {
	At       string        `json:"at"`
	Datasets []datasetLine `json:"datasets"`
	Objects  *fileCount    `json:"objects,omitempty"` // where there is no dataset
}

type datasetLine struct {
	Dataset   string    `json:"dataset"`
	State     string    `json:"state"`
	Files     int64     `json:"files"`
	Bytes     int64     `json:"bytes"`
	Committed time.Time `json:"committed"`
	Error     string    `json:"error,omitempty"` // why it cannot be read; its state is "unknown" then
}

// datasetAnswer is what it prints of a dataset.
type datasetAnswer struct {
	datasetLine
	Folders []data.Folder     `json:"folders"`
	Below   []datasetLine     `json:"below,omitempty"` // other datasets, in the bucket of one that has all of it
	Records []manifest.Record `json:"records,omitempty"`
}

func lineOf(t target, prefix string, h manifest.Head) datasetLine {
	return datasetLine{Dataset: target{t.bucket, prefix}.String(), State: h.State, Files: h.Files, Bytes: h.Bytes, Committed: h.Committed}
}

func lineOfFound(t target, f data.Found) datasetLine {
	line := lineOf(t, f.Prefix, f.Head)
	if f.Err != nil {
		line.State, line.Error = "unknown", f.Err.Error()
	}
	return line
}

func (a *app) listTarget(ctx context.Context, at bucketFlags, t target, files bool) error {
	bucket, _, stop, err := a.beginData(ctx, at, t, transferFlags{})
	if err != nil {
		return err
	}
	defer stop()
	found, err := data.Datasets(ctx, bucket, t.prefix)
	if errors.Is(err, store.ErrNotFound) {
		err = cmp.Or(noBucket(ctx, bucket, t), err)
	}
	if err != nil {
		return err
	}
	if len(found) == 1 && found[0].Prefix == t.prefix {
		if found[0].Err != nil {
			return found[0].Err
		}
		return a.listDataset(ctx, bucket, t, found[0].Head, files)
	}
	if len(found) == 0 {
		return a.listObjects(ctx, bucket, t, files)
	}
	stop()
	return a.listDatasets(t, found)
}

// listDatasets shows the datasets of a bucket. One that cannot be read hides no other.
func (a *app) listDatasets(t target, found []data.Found) error {
	answer, broken := datasetsAnswer{At: t.String()}, false
	for _, f := range found {
		line := lineOfFound(t, f)
		if f.Err != nil {
			broken = true
			fmt.Fprintf(a.err, "muster: %s: %s\n", page.Printable(line.Dataset), page.Printable(line.Error))
		}
		answer.Datasets = append(answer.Datasets, line)
	}
	err := a.answer(answer, func() error { return datasetTable(answer.Datasets, time.Now()).Write(a.out) })
	if err == nil && broken {
		return fault.Exit(fault.ExitProblem)
	}
	return err
}

func datasetTable(all []datasetLine, now time.Time) page.Table {
	t := page.Table{{"DATASET", "STATE", "FILES", "SIZE", "COMMITTED"}}
	for _, d := range all {
		if d.Error != "" {
			t.Add(page.Printable(d.Dataset), d.State, "-", "-", "-")
			continue
		}
		committed := clock(d.Committed, now)
		if d.State == manifest.Changing && d.Files == 0 {
			committed = "-" // the first push is under way, or was cut off
		}
		t.Add(page.Printable(d.Dataset), d.State, fmt.Sprint(d.Files), count.Bytes(d.Bytes), committed)
	}
	return t
}

// listDataset shows a dataset. One that is changing has no manifest to go by.
func (a *app) listDataset(ctx context.Context, bucket store.Store, t target, head manifest.Head, files bool) (err error) {
	answer := datasetAnswer{datasetLine: lineOf(t, t.prefix, head), Folders: []data.Folder{}}
	if head.State == manifest.Changing {
		a.note("a push of %s is under way, or was cut off; if none is, run that `muster data push` again", t)
		if answer.Below, err = linesBelow(ctx, bucket, t, nil); err != nil {
			return err
		}
		return a.answer(answer, func() error { return datasetTable(answer.lines(), time.Now()).Write(a.out) })
	}
	set, err := data.Open(ctx, bucket, t.prefix, t.String())
	if err != nil {
		return err
	}
	defer set.Close()
	if files {
		return a.listFiles(answer, set.Records(ctx))
	}
	folders, err := data.Folders(set.Records(ctx))
	if err != nil {
		return err
	}
	answer.Folders = append(answer.Folders, folders...)
	if answer.Below, err = linesBelow(ctx, bucket, t, folders); err != nil {
		return err
	}
	return a.answer(answer, func() error {
		if err := datasetTable(answer.lines(), time.Now()).Write(a.out); err != nil {
			return err
		}
		return a.writeFolders(folders)
	})
}

// linesBelow are the other datasets of a bucket whose root is one.
func linesBelow(ctx context.Context, bucket store.Store, t target, own []data.Folder) ([]datasetLine, error) {
	if t.prefix != "" {
		return nil, nil
	}
	found, err := data.Below(ctx, bucket, t.prefix, own)
	var lines []datasetLine
	for _, f := range found {
		lines = append(lines, lineOfFound(t, f))
	}
	return lines, err
}

// lines are those of the dataset and of the ones below.
func (d datasetAnswer) lines() []datasetLine { return append([]datasetLine{d.datasetLine}, d.Below...) }

func (a *app) writeFolders(folders []data.Folder) error {
	if len(folders) == 0 {
		return nil
	}
	t := page.Table{{"FOLDER", "FILES", "SIZE"}}
	for _, f := range folders {
		name := "."
		if f.Name != "" {
			name = page.Printable(f.Name) + "/"
		}
		t.Add(name, fmt.Sprint(f.Files), count.Bytes(f.Bytes))
	}
	if _, err := fmt.Fprintln(a.out); err != nil {
		return err
	}
	return t.Write(a.out)
}

// listFiles writes a line for each file, while they are read.
func (a *app) listFiles(answer datasetAnswer, records iter.Seq2[manifest.Record, error]) error {
	if a.output == "json" {
		return a.listRecords(answer, records)
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		when := time.Unix(0, r.ModTime).Local().Format("2006-01-02 15:04:05")
		if _, err := fmt.Fprintf(a.out, "%12d  %s  %s\n", r.SizeBytes, when, page.Printable(r.Path)); err != nil {
			return err
		}
	}
	return nil
}

// listRecords writes what writeJSON would write of the answer with all its records, while they are read: there may be millions. If that
// ends too soon, the text is none of JSON.
func (a *app) listRecords(answer datasetAnswer, records iter.Seq2[manifest.Record, error]) error {
	var head bytes.Buffer
	if err := (&app{out: &head}).writeJSON(answer); err != nil {
		return err
	}
	w := bufio.NewWriter(a.out)
	begins := strings.TrimSuffix(head.String(), "\n}\n")
	var text bytes.Buffer
	one := json.NewEncoder(&text)
	one.SetEscapeHTML(false)
	one.SetIndent("    ", "  ")
	before, end := begins+",\n  \"records\": [\n    ", begins+"\n}\n"
	for r, err := range records {
		if err == nil {
			text.Reset()
			err = one.Encode(r)
		}
		if err != nil {
			return errors.Join(err, w.Flush())
		}
		w.WriteString(before)
		w.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
		before, end = ",\n    ", "\n  ]\n}\n"
	}
	w.WriteString(end)
	return w.Flush()
}

// listObjects counts what is no dataset.
func (a *app) listObjects(ctx context.Context, bucket store.Store, t target, files bool) error {
	if some, err := anything(ctx, bucket, t.prefix); err != nil || !some && t.prefix != "" {
		return cmp.Or(err, fmt.Errorf("there is nothing at %s", t))
	}
	a.note("there is no dataset at %s, nor up to two levels below: what is there has no manifest", t)
	if files {
		return a.listFiles(datasetAnswer{datasetLine: datasetLine{Dataset: t.String(), State: "none"}, Folders: []data.Folder{}}, data.Objects(ctx, bucket, t.prefix))
	}
	folders, err := data.Folders(data.Objects(ctx, bucket, t.prefix))
	if err != nil {
		return err
	}
	sum := &fileCount{}
	for _, f := range folders {
		sum.Files += f.Files
		sum.Bytes += f.Bytes
	}
	return a.answer(datasetsAnswer{At: t.String(), Datasets: []datasetLine{}, Objects: sum}, func() error {
		if _, err := fmt.Fprintf(a.out, "%s, %s\n", count.Of(sum.Files, "object"), count.Bytes(sum.Bytes)); err != nil {
			return err
		}
		return a.writeFolders(folders)
	})
}

// anything says whether there is an object below a prefix.
func anything(ctx context.Context, bucket store.Store, prefix string) (bool, error) {
	for _, err := range data.Objects(ctx, bucket, prefix) {
		return err == nil, err
	}
	return false, nil
}
