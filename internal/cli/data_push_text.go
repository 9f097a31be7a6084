package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
)

// pushAnswer is what `muster data push -o json` prints. With --dry-run it begins with the steps.
type pushAnswer struct {
	Dataset   string         `json:"dataset"`
	DryRun    bool           `json:"dry_run"`
	Committed bool           `json:"committed"` // the dataset is another one than before
	Whole     fileCount      `json:"whole"`     // the dataset as it is now
	Sent      fileCount      `json:"sent"`
	Resumed   int64          `json:"resumed_bytes"` // of what was sent, this was there since a push that was cut off
	Found     fileCount      `json:"found"`         // were there, put by others
	Unchanged fileCount      `json:"unchanged"`
	Checksum  bool           `json:"checksum"`        // the bytes of the unchanged files were compared, not only size and time
	Different int64          `json:"different_files"` // were sent for their bytes alone
	Deleted   fileCount      `json:"deleted"`
	Staying   int64          `json:"staying_files"`  // are of the dataset, though the source has them no more
	LeftOut   int64          `json:"left_out_files"` // are of the dataset, and stay as the patterns do not mean them
	Below     int64          `json:"datasets_below"`
	Around    string         `json:"inside_dataset,omitempty"`
	Strays    int64          `json:"stray_objects"` // are of no dataset
	Lost      int64          `json:"lost_files"`    // somebody deleted them from the bucket
	Old       int64          `json:"old_manifests"` // of former pushes, which this one may not delete
	Links     int64          `json:"links_left"`
	Failed    int64          `json:"failed"`
	Problems  []data.Problem `json:"problems"`
	Seconds   float64        `json:"seconds"`
	PerSecond float64        `json:"bytes_per_second"`
}

func pushAnswerOf(to target, p data.Pushed, o data.PushOptions) pushAnswer {
	answer := pushAnswer{
		Dataset: to.String(), Checksum: o.Checksum, Committed: p.Committed, Whole: fileCount{p.Files, p.Bytes}, Sent: fileCount{p.SentFiles, p.SentBytes},
		Resumed: p.ResumedBytes, Found: fileCount{p.FoundFiles, p.FoundBytes}, Unchanged: fileCount{p.UnchangedFiles, p.UnchangedBytes}, Different: p.Different.All,
		Deleted: fileCount{p.DeletedFiles, p.DeletedBytes}, Staying: p.StayingFiles, LeftOut: p.LeftOutFiles, Below: p.Below.All, Strays: p.Strays.All, Lost: p.Lost.All,
		Old: p.OldManifests.All, Links: p.LinksLeft, Failed: p.Problems.All, Problems: append([]data.Problem{}, p.Problems.List...), Seconds: p.Seconds,
	}
	if p.Around != nil {
		answer.Around = target{to.bucket, *p.Around}.String()
	}
	if p.Seconds > 0 {
		answer.PerSecond = float64(p.SentBytes-p.ResumedBytes) / p.Seconds
	}
	return answer
}

// showPushed answers. What is odd is told beside.
func (a *app) showPushed(ctx context.Context, to target, p data.Pushed, o data.PushOptions, err error) error {
	if err != nil && !errors.Is(err, data.ErrSource) {
		if ctx.Err() != nil || errors.Is(err, store.ErrCredentials) {
			a.note("what was sent stays; the same command goes on with it")
		}
		if errors.Is(err, data.ErrNothing) {
			a.tellIdle(p)
		}
		return pushError(err, to)
	}
	a.tellProblems(p.Problems.List, p.Problems.All)
	a.tellOdd(to, p, o)
	answer := pushAnswerOf(to, p, o)
	if err := a.answer(answer, func() error {
		_, err := fmt.Fprintln(a.out, answer.text())
		return err
	}); err != nil {
		return err
	}
	if err == nil {
		return nil
	}
	if a.output == "json" {
		return fault.Exit(fault.ExitProblem)
	}
	return pushError(err, to)
}

// someOf are how many names stand in one line.
const someOf = 10

// some are the first names of many.
func some(n data.Names) string {
	first := n.List[:min(len(n.List), someOf)]
	text := page.Printable(strings.Join(first, ", "))
	if more := n.All - int64(len(first)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (p pushAnswer) text() string {
	sent := "sent"
	if p.DryRun {
		sent = "to send"
	}
	text := fmt.Sprintf("%s, %s %s", count.Of(p.Sent.Files, "file"), count.Bytes(p.Sent.Bytes), sent)
	text += fmt.Sprintf("; %d unchanged", p.Unchanged.Files)
	if p.Unchanged.Files > 0 {
		text += " (" + p.compared() + ")"
	}
	for _, more := range []struct {
		n    int64
		what string
	}{
		{p.Found.Files, p.word("found there", "to compare with what is there")},
		{p.Deleted.Files, p.word("deleted", "to delete")},
		{p.Staying, "not in the source any more (--delete deletes them)"},
		{p.LeftOut, "left out by --include or --exclude (they stay)"},
		{p.Failed, p.word("failed", "that cannot be sent")},
	} {
		if more.n > 0 {
			text += fmt.Sprintf("; %d %s", more.n, more.what)
		}
	}
	if p.DryRun {
		return text
	}
	text += "; in " + count.Span(time.Duration(p.Seconds*float64(time.Second)))
	if p.Seconds >= 1 && p.PerSecond >= 1 {
		text += fmt.Sprintf(", %s/s", count.Bytes(int64(p.PerSecond)))
	}
	if p.Failed > 0 {
		return text
	}
	return fmt.Sprintf("%s\n%s is whole: %s, %s", text, p.Dataset, count.Of(p.Whole.Files, "file"), count.Bytes(p.Whole.Bytes))
}

// compared is what unchanged files were compared by.
func (p pushAnswer) compared() string {
	if p.Checksum {
		return "by their bytes"
	}
	return "by size and time"
}

func (p pushAnswer) word(done, planned string) string {
	if p.DryRun {
		return planned
	}
	return done
}
