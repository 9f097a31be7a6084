package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

// addUnread adds which lines of a job's output may be progress, if it has run for a while and none is known to be.
func (j *jobAnswer) addUnread(ctx context.Context, s slurm.Client, of slurm.Job, now time.Time) {
	known := j.Progress != nil || j.Kept != nil && len(j.Kept.Samples) > 0
	if known || !job.Started(of) || job.Elapsed(of, now) < job.UnreadAfter {
		return
	}
	unread, err := job.ReadUnread(of, patternOf(ctx, s, of.ID))
	if err != nil || unread == nil || j.Ended && len(unread.Lines) == 0 {
		return // that the output cannot be read is said already, and not every job trains
	}
	j.Unread = unread
}

// patternOf is the pattern for lines of progress in a job's script; empty is none, or one that this user may not read.
func patternOf(ctx context.Context, s slurm.Client, id int) string {
	script, err := s.BatchScript(ctx, id)
	if err != nil || script == nil {
		if script, err = s.Script(ctx, id); err != nil {
			return ""
		}
	}
	return policy.Read("script", script).Policy.LogPattern
}

// hearing is where a job's output goes that somebody else hears, too.
type hearing struct {
	io.Writer
	unheard *job.Unheard
	name    string
}

func (h hearing) Write(p []byte) (int, error) {
	n, err := h.Writer.Write(p)
	h.unheard.Hear(h.name, p[:n], time.Now())
	return n, err
}

// tellUnread tells who follows a job that its output has no line of progress, if so.
func (a *app) tellUnread(id int, u *job.Unread) {
	if u == nil || a.quiet {
		return
	}
	a.sayOf(id)("has written for " + count.Of(int(job.UnreadAfter.Minutes()), "minute") + " without a line of progress that muster knows: its step, loss and speed are not known")
	fmt.Fprint(a.err, unreadText(a, id, *u, true))
}

// unreadText says which lines may be progress, and what would read them.
func unreadText(a *app, id int, u job.Unread, runs bool) string {
	var out strings.Builder
	if u.Pattern != "" {
		fmt.Fprintf(&out, "  Its --log-pattern matches no line: %s\n", page.Printable(u.Pattern))
	}
	if len(u.Lines) == 0 {
		out.WriteString("  No line has a number that rises from one to the next. Print the step and the loss in one line, such as \"step 10 loss 2.5\".\n")
		return out.String()
	}
	out.WriteString("  The likeliest lines, each with the line for the batch script that has it read:\n")
	for _, l := range u.Lines {
		fmt.Fprintf(&out, "    %s\n      #MUSTER --log-pattern='%s'\n", page.Printable(l.Line), page.Printable(l.Pattern))
	}
	if runs {
		fmt.Fprintf(&out, "  For this job: %s\n", a.command("job adopt %d --log-pattern='%s'", id, page.Printable(u.Lines[0].Pattern)))
	}
	return out.String()
}
