package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a job: what it does, its runs, how far it has come",
		Long: `Show tells what matters about a job: its state in plain words, its nodes, its runs
and how each ended, the last line of progress in its output, and where that output
is. ID is a number, or 9_3 for task 3 of array 9; of an array, all tasks are listed.`,
		Example:           "  muster job show 12\n  muster job show 12 -o json | jq .progress.loss",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob(true, 1),
		RunE: a.aboutJob(func(ctx context.Context, s slurm.Client, id int, asked string) error {
			told := &recall{Client: s}
			view, err := job.Look(ctx, told, id, job.View{BurnIn: burnInsHere()})
			if errors.Is(err, slurm.ErrNoJob) {
				return noJob(id)
			}
			if err != nil {
				return err
			}
			answer := a.jobAnswer(ctx, told, view)
			answer.addKept(ctx)
			answer.addUnread(ctx, s, view.Job, time.Now())
			answer.addCause(ctx, s, view)
			if err := answer.addTasks(ctx, s, asked); err != nil {
				return err
			}
			return a.answer(answer, func() error { return answer.write(a, time.Now()) })
		}),
	}
}

// jobAnswer adds to a job's view what the user can know beside it.
func (a *app) jobAnswer(ctx context.Context, s job.Source, v job.View) jobAnswer {
	j := v.Job
	nodes, _ := slurm.Expand(j.NodeList)
	answer := jobAnswer{
		ID: j.ID, Label: j.Label(), Name: j.Name, User: j.User, State: j.State, Text: job.State(v),
		Ended: j.Ended(), Completed: j.State == "COMPLETED", ExitCode: j.ExitCode.Code, Signal: j.ExitCode.Signal,
		Partition: j.Partition, Account: j.Account, QOS: j.QOS, NumNodes: j.NumNodes, Nodes: notNil(nodes), CPUs: j.NumCPUs, GPUs: slurm.GPUs(j.TRES),
		TimeLimitSeconds: int(job.Limit(j) / time.Second), Submit: j.SubmitTime,
		Script: j.Command, WorkDir: j.WorkDir, Stdout: j.StdOut, Stderr: j.StdErr,
	}
	if job.Started(j) && j.State != "PENDING" && !j.Again {
		answer.Start = j.StartTime
		answer.ElapsedSeconds = int(job.Elapsed(j, time.Now()) / time.Second)
	}
	if j.State == "PENDING" {
		answer.Priority = j.Priority
	}
	if j.Ended() {
		answer.End = j.EndTime
	}
	answer.addAttempts(ctx, s, j, time.Now())
	answer.addProgress(j)
	return answer
}

func (j *jobAnswer) addAttempts(ctx context.Context, s job.Source, of slurm.Job, now time.Time) {
	history, _, err := s.History(ctx, slurm.Ever(j.ID))
	if err != nil {
		j.Blind = append(j.Blind, fmt.Sprintf("the job's runs: %v", err))
	}
	if runs := job.RunsOf(history, j.ID); len(runs) > 0 {
		j.Submit = runs[0].Submit // each run is submitted anew
	}
	j.Attempts = []attempt{}
	for i, r := range job.Attempts(history, of) {
		nodes, _ := slurm.Expand(r.NodeList)
		elapsed := now.Sub(r.Start)
		if !r.End.IsZero() {
			elapsed = r.End.Sub(r.Start)
		}
		j.Attempts = append(j.Attempts, attempt{
			Attempt: i + 1, State: r.State, Text: job.RunEnding(r).Text, ExitCode: r.ExitCode.Code,
			Signal: r.ExitCode.Signal, Nodes: notNil(nodes), Start: r.Start, End: r.End,
			ElapsedSeconds: int(elapsed / time.Second), nodeList: r.NodeList,
		})
	}
	if n := len(j.Attempts); n > 0 && (j.Ended || of.State == "COMPLETING") {
		j.Nodes = j.Attempts[n-1].Nodes
	}
}

func (j *jobAnswer) addProgress(of slurm.Job) {
	if of.StdOut == "" || !job.Started(of) {
		return
	}
	for _, path := range job.Logs(of) { // bars, and Composer's lines, go to the standard error
		p, found, err := job.ReadProgress(path, of.UID)
		if err != nil {
			j.Blind = append(j.Blind, fmt.Sprintf("the job's output: %v", err))
		}
		if found {
			j.Progress = progressOf(p)
			return
		}
	}
}

// addCause says why a job that failed did so, where its logs say more than Slurm. What the keeper has
// found out counts more.
func (j *jobAnswer) addCause(ctx context.Context, s slurm.Client, v job.View) {
	kept := j.Kept != nil && len(j.Kept.Rounds) > 0
	if !j.Ended || j.Completed || kept || v.Job.State == "CANCELLED" || !job.Started(v.Job) {
		return
	}
	steps, err := s.Steps(ctx, v.Job.ID, v.Job.StartTime)
	if err != nil && len(j.Blind) == 0 { // else it was said of its runs
		j.Blind = append(j.Blind, fmt.Sprintf("the job's steps: %v", err))
	}
	signs, err := job.ReadSigns(v.Job)
	if said := fmt.Sprintf("the job's output: %v", err); err != nil && !slices.Contains(j.Blind, said) {
		j.Blind = append(j.Blind, said)
	}
	verdict := job.Judge(v, steps, signs)
	if j.cause = job.CauseText(verdict); j.cause != "" {
		j.hint = verdict.Hint
	}
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// write writes the answer for people.
func (j jobAnswer) write(a *app, now time.Time) error {
	t := page.Table{{"job", j.Label + "  " + j.Name}}
	row := func(name, value string) {
		if value != "" {
			t.Add(name, value)
		}
	}
	row("array", page.Printable(j.arrayText()))
	row("state", j.stateText())
	row("because it", page.Printable(j.cause))
	row("to do", page.Printable(j.hint))
	row("asks for", j.resources())
	row("user", j.User)
	row("account", j.accountText())
	row("submitted", clock(j.Submit, now))
	row("progress", j.progressText())
	j.keptRows(row, now)
	row("script", j.Script)
	row("directory", j.WorkDir)
	row("output", j.Stdout)
	if j.Stderr != j.Stdout {
		row("errors", j.Stderr)
	}
	if err := t.Write(a.out); err != nil {
		return err
	}
	for _, b := range j.Blind {
		fmt.Fprintf(a.err, "muster: could not read %s\n", page.Printable(b))
	}
	if j.Unread != nil {
		fmt.Fprintf(a.out, "\nThe job's output has no line of progress that muster knows.\n%s", unreadText(a, j.ID, *j.Unread, !j.Ended))
	}
	if err := j.writeAttempts(a, now); err != nil {
		return err
	}
	return j.writeTasks(a)
}

func (j jobAnswer) stateText() string {
	text := j.Text
	if own := (slurm.Job{State: j.State}); !own.Ended() && j.State != "COMPLETING" && j.ElapsedSeconds > 0 {
		text += " for " + job.Span(time.Duration(j.ElapsedSeconds)*time.Second)
	}
	return text + " (" + j.State + ")"
}

func (j jobAnswer) resources() string {
	parts := []string{count.Of(j.NumNodes, "node") + " of " + j.Partition}
	if j.CPUs > 0 {
		parts = append(parts, count.Of(j.CPUs, "CPU"))
	}
	if j.GPUs > 0 {
		parts = append(parts, count.Of(j.GPUs, "GPU"))
	}
	if j.TimeLimitSeconds > 0 {
		parts = append(parts, "at most "+job.Span(time.Duration(j.TimeLimitSeconds)*time.Second))
	}
	return strings.Join(parts, ", ")
}

// accountText is what the job is charged to, where that is not the same for everybody.
func (j jobAnswer) accountText() string {
	if !job.Accounted(j.Account, j.QOS) {
		return ""
	}
	text := j.Account + ", QOS " + j.QOS
	if j.Account == "" {
		text = "none, QOS " + j.QOS
	}
	if j.Priority > 0 {
		text += fmt.Sprintf(", priority %d", j.Priority)
	}
	return text
}

func (j jobAnswer) progressText() string {
	if j.before() {
		return ""
	}
	if j.Kept != nil {
		if last, ok := lastSample(j.Kept.Samples); ok {
			return sampleText(last)
		}
	}
	if j.Progress == nil {
		return ""
	}
	return j.Progress.text
}

func (j jobAnswer) writeAttempts(a *app, now time.Time) error {
	if len(j.Attempts) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	t := page.Table{{"RUN", "START", "END", "TIME", "STATE", "NODES", "HOW IT ENDED"}}
	for _, r := range j.Attempts {
		how := r.Text
		if r.End.IsZero() {
			how = ""
		}
		t.Add(strconv.Itoa(r.Attempt), clock(r.Start, now), clock(r.End, now),
			job.Span(time.Duration(r.ElapsedSeconds)*time.Second), r.State, r.nodeList, how)
	}
	return t.Write(a.out)
}
