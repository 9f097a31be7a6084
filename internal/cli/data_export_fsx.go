package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/data/lustre"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
)

// fsxAnswer is how far FSx is with a link of its own, by Lustre's word.
type fsxAnswer struct {
	Path    string `json:"path"`
	Bucket  string `json:"bucket"`
	Prefix  string `json:"prefix,omitempty"`
	Files   int64  `json:"files"`
	Waiting int    `json:"waiting"`
	Failed  int    `json:"failed"`
	// First is one of those that wait or fail.
	First string `json:"first,omitempty"`
	// Blind says what was not looked at, "" for nothing.
	Blind string `json:"blind"`
	// Proof is what came of the comparison with the bucket, with --wait.
	Proof *lustre.Proof `json:"proof,omitempty"`
}

const (
	notCompared = "what the bucket has is not compared"
	notAsked    = notCompared + ": --wait does that"
)

// fsxLinks are the links of the cluster's file that FSx exports by itself, and that have something of a directory, ""
// for all. A cluster on this machine has none: its controller stands for FSx.
func fsxLinks(dir string) []spec.DataRepository {
	if !onCloudHead() {
		return nil
	}
	file, _ := spec.Load(services.ClusterFile)
	if file == nil {
		return nil
	}
	var links []spec.DataRepository
	for _, s := range file.SharedStorage {
		for _, r := range s.Repositories {
			if r.Exports() && (dir == "" || lies(r.Dir, dir) || lies(dir, r.Dir)) {
				links = append(links, r)
			}
		}
	}
	return links
}

// fsxEvery is how often Lustre is asked while FSx is waited for.
const fsxEvery = 10 * time.Second

// fsxExports asks Lustre how far FSx is with its links. If that is asked for, it waits for what there is now, and compares
// it with the bucket.
func (a *app) fsxExports(ctx context.Context, links []spec.DataRepository, dir string, wait bool) ([]fsxAnswer, error) {
	var all []fsxAnswer
	client := lustre.Client{Run: lustre.Lfs}
	for _, r := range links {
		at := r.Dir
		if dir != "" && lies(dir, r.Dir) {
			at = dir
		}
		e, err := client.Exported(ctx, at)
		if err == nil && wait {
			e, err = client.AwaitExported(ctx, e, fsxEvery)
		}
		if err != nil {
			return all, fmt.Errorf("ask Lustre how far the export of %s is: %w", at, err)
		}
		f := fsxOf(r, e)
		if wait {
			if err := f.prove(ctx, client, at, a.fsxBucket(r)); err != nil {
				return append(all, f), err
			}
		}
		all = append(all, f)
	}
	return all, nil
}

func fsxOf(r spec.DataRepository, e lustre.Exported) fsxAnswer {
	f := fsxAnswer{Path: r.Dir, Bucket: r.Bucket, Prefix: r.Prefix, Files: e.Files, Waiting: len(e.Waiting), Failed: len(e.Failed), Blind: notAsked}
	switch {
	case len(e.Failed) > 0 && e.Failed[0].Err != nil:
		f.First = e.Failed[0].Path + ": " + e.Failed[0].Err.Error()
	case len(e.Failed) > 0:
		f.First = e.Failed[0].Path + ": " + e.Failed[0].State.String()
	case len(e.Waiting) > 0:
		f.First = e.Waiting[0]
	}
	return f
}

// title and text are what people read of it.
func (f fsxAnswer) title() string { return fmt.Sprintf("%s -> s3://%s/%s", f.Path, f.Bucket, f.Prefix) }

func (f fsxAnswer) text() string {
	text := fmt.Sprintf("by FSx: %d of %s waiting", f.Waiting, count.Of(int(f.Files), "file"))
	if f.Failed > 0 {
		text += fmt.Sprintf(", %d cannot be exported", f.Failed)
	}
	if f.First != "" {
		text += ", such as " + f.First
	}
	return text
}
