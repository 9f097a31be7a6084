package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
)

func (a *app) dataExport() *cobra.Command {
	wait := false
	c := &cobra.Command{
		Use:   "export [DIR]",
		Short: "Show how far a cluster's exports are, and wait for them",
		Long: `Export shows what of shared storage goes to buckets, and how far that is: what
waits and since when, what is being sent, what cannot be exported and why.

With --wait it returns when all that existed when it was called is in the bucket
and was held against the checksums there; files that come meanwhile keep nobody
waiting. It reads each file once for that. Ctrl-C ends the wait and nothing else.
DIR is a directory or file as the cluster's machines see it.

It ends with exit code 0 if all is well. With --wait a file that cannot be exported,
or of which the bucket has something else, is exit code 1, once all others are
there, and what cannot be compared exit code 3; without, what needs a look is 3.`,
		Example: "  muster data export\n  muster data export --wait /fsx/checkpoints\n  muster data export -o json | jq '.exports[].pending'",
		Args:    cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && !path.IsAbs(args[0]) && !inside() {
				return fault.Usage(fmt.Errorf("%q is not absolute: DIR is a directory as the cluster's machines see it", args[0]))
			}
			return nil
		},
		RunE: a.forwarded(func(c *cobra.Command, args []string) error {
			if err := endWithCaller(); err != nil {
				return err
			}
			dir, err := exportedDir(args)
			if err != nil {
				return err
			}
			if head := headAway(); head != "" {
				return a.exportsAway(c.Context(), head, dir, wait)
			}
			return a.exports(c.Context(), dir, wait)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "return when all that exists now is in the bucket and verified")
	return c
}

// exportedDir is the directory that is meant, "" for all.
func exportedDir(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	return filepath.Abs(args[0])
}

// exportsAnswer is what `muster data export -o json` prints.
type exportsAnswer struct {
	Exports []exportAnswer `json:"exports"`
	// FSx are the links that FSx for Lustre exports by itself.
	FSx []fsxAnswer `json:"fsx,omitempty"`
}

type exportAnswer struct {
	client.ExportStatus
	// Awaited is what became of what there was, with --wait.
	Awaited *client.Awaited `json:"awaited,omitempty"`
}

func (a *app) exports(ctx context.Context, dir string, wait bool) error {
	n, err := a.near()
	if err != nil {
		return err
	}
	control, err := n.Control()
	if err != nil {
		return err
	}
	links := fsxLinks(dir)
	answer, err := exportsOf(ctx, control, dir)
	if err != nil && (!errors.Is(err, errNotExported) || len(links) == 0) {
		if inside() {
			err = elsewhereAsked(err)
		}
		return err
	}
	var failed error
	if wait && len(answer.Exports) > 0 {
		awaited, err := a.awaitExports(ctx, control, dir)
		failed = err
		if answer, err = exportsOf(context.WithoutCancel(ctx), control, dir); err != nil {
			return err
		}
		answer.add(awaited)
	}
	if failed == nil {
		answer.FSx, failed = a.fsxExports(ctx, links, dir, wait)
	}
	if err := a.answer(answer, func() error { return answer.write(a.out, time.Now()) }); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return answer.exit(wait)
}

// askExports is how long the controller may take to say how far it is.
const askExports = 10 * time.Second

var errNotExported = errors.New("is exported to no bucket")

// exportsOf asks the controller how far the exports of a directory are.
func exportsOf(ctx context.Context, control client.Client, dir string) (exportsAnswer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askExports, errors.New("it does not answer"))
	defer cancel()
	found, err := control.Exports(ctx)
	if err != nil {
		return exportsAnswer{}, fmt.Errorf("ask the controller how far its exports are: %w", err)
	}
	answer := exportsAnswer{Exports: []exportAnswer{}}
	for _, e := range found {
		if e.Progress = 0; e.Export && (dir == "" || lies(e.Path, dir) || lies(dir, e.Path)) {
			answer.Exports = append(answer.Exports, exportAnswer{ExportStatus: e})
		}
	}
	if dir != "" && len(answer.Exports) == 0 {
		return answer, fmt.Errorf("%s %w", dir, errNotExported)
	}
	return answer, nil
}

// lies says that a path is a directory or lies in it.
func lies(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// awaitExports waits until what there is now is in the buckets, and shows meanwhile how far it is.
func (a *app) awaitExports(ctx context.Context, control client.Client, dir string) ([]client.Awaited, error) {
	progress := &data.Progress{}
	progress.Begin("export")
	stop := a.watchData(progress)
	defer stop()
	watching, done := context.WithCancel(ctx)
	defer done()
	var follow sync.WaitGroup
	follow.Go(func() { followExports(watching, control, dir, progress) })
	all, err := control.AwaitExports(ctx, client.AwaitRequest{Dir: dir})
	done()
	follow.Wait()
	if ctx.Err() != nil {
		return all, context.Cause(ctx)
	}
	if err != nil {
		return all, fmt.Errorf("wait for the exports: %w", err)
	}
	return all, nil
}

// followExports takes down how far the exports are, until ctx ends.
func followExports(ctx context.Context, control client.Client, dir string, p *data.Progress) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var sent, exported int64
	told := map[string]bool{}
	for first := true; ; first = false {
		if now, err := exportsOf(ctx, control, dir); err == nil {
			for _, why := range now.heldBack(told) {
				p.Note("%s", why)
			}
			all := now.total()
			if first {
				p.Expect(all.files, all.bytes)
			} else {
				p.Move(all.sent - sent)
				p.Done(all.exported - exported)
			}
			sent, exported = all.sent, all.exported
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// heldBack says what keeps checkpoints from the bucket, of each that is not told of yet.
func (s exportsAnswer) heldBack(told map[string]bool) (reasons []string) {
	for _, e := range s.Exports {
		for _, f := range e.Waiting {
			of, why, ok := strings.Cut(f.Reason, checkpoint.NotWhole)
			if at := path.Join(e.Path, of); ok && !told[at] {
				told[at] = true
				reasons = append(reasons, fmt.Sprintf("%s waits, as it is not whole: %s", at, why))
			}
		}
	}
	return reasons
}

type exportsTotal struct{ files, bytes, sent, exported int64 }

func (s exportsAnswer) total() (t exportsTotal) {
	for _, e := range s.Exports {
		t.files += int64(e.Pending)
		t.bytes += e.PendingBytes
		t.sent += e.SentBytes
		t.exported += int64(e.Exported)
	}
	return t
}

func (s exportsAnswer) add(awaited []client.Awaited) {
	for _, w := range awaited {
		if i := slices.IndexFunc(s.Exports, func(e exportAnswer) bool { return e.Path == w.Path }); i >= 0 {
			s.Exports[i].Awaited = &w
		}
	}
}

// exit is how the command ends.
func (s exportsAnswer) exit(wait bool) error {
	for _, e := range s.Exports {
		switch {
		case e.Awaited != nil && !e.Awaited.OK():
			return fmt.Errorf("not all of %s is in s3://%s/%s: %s", e.Path, e.Bucket, e.Prefix, missingText(*e.Awaited))
		case !wait && (e.Error != "" || e.Blocked > 0):
			return fault.Exit(fault.ExitLook)
		}
	}
	for _, f := range s.FSx {
		if lacks := f.lacks(); wait && lacks != "" {
			return fmt.Errorf("not all of %s is in s3://%s/%s: %s", f.Path, f.Bucket, f.Prefix, lacks)
		}
	}
	if slices.ContainsFunc(s.FSx, func(f fsxAnswer) bool { return f.Failed > 0 || wait && !f.proven() }) {
		return fault.Exit(fault.ExitLook)
	}
	return nil
}

// missingText says what of a directory is not in its bucket, by its first names.
func missingText(w client.Awaited) string {
	var parts []string
	for _, f := range w.BlockedFiles[:min(3, len(w.BlockedFiles))] {
		parts = append(parts, f.Path+" cannot be exported: "+f.Reason)
	}
	if more := w.Blocked - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("nor can %d more", more))
	}
	for _, x := range []struct {
		names []string
		what  string
	}{{w.Missing, "has no object"}, {w.Different, "is another one there"}, {w.Unreadable, "cannot be read"}} {
		if len(x.names) > 0 {
			parts = append(parts, x.names[0]+" "+x.what)
		}
		if len(x.names) > 1 {
			parts = append(parts, fmt.Sprintf("so with %d more", len(x.names)-1))
		}
	}
	return strings.Join(parts, "; ")
}

// awaitedText says what of a directory is in its bucket.
func awaitedText(w client.Awaited) string {
	text := fmt.Sprintf("%d of %s verified", w.Verified, count.Of(w.Files, "file"))
	if w.Changed > 0 {
		text += fmt.Sprintf(", %d changed meanwhile", w.Changed)
	}
	if w.LeftAlone > 0 {
		text += fmt.Sprintf(", %d left as the policy says", w.LeftAlone)
	}
	if w.Blocked > 0 {
		text += fmt.Sprintf(", %d cannot be exported", w.Blocked)
	}
	return text
}
