package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// rankWish is what `muster job logs --rank` is asked for.
type rankWish struct {
	// asked is the job as its user wrote it, id its number.
	asked string
	id    int
	// rank is a number or all.
	rank   string
	follow bool
}

// number is the rank, job.AllRanks for all.
func (w rankWish) number() (int, error) {
	if w.rank == "all" || w.rank == "" {
		return job.AllRanks, nil
	}
	n, err := strconv.ParseUint(w.rank, 10, 31)
	if err != nil {
		return 0, fault.Usage(fmt.Errorf("--rank %s: write a number such as 0, or all", w.rank))
	}
	return int(n), nil
}

// rankLogs prints what ranks wrote, through all runs of the job.
func (a *app) rankLogs(ctx context.Context, s slurm.Client, w rankWish) error {
	rank, err := w.number()
	if err != nil {
		return err
	}
	view, err := job.Look(ctx, s, w.id, job.View{})
	if errors.Is(err, slurm.ErrNoJob) {
		return noJob(w.id)
	}
	if err != nil {
		return err
	}
	j := view.Job
	if !w.follow && !job.Started(j) {
		return fmt.Errorf("job %d has no output yet: it %s; %s waits for it", w.id, job.State(view), a.command("job logs -f --rank %s %d", w.rank, w.id))
	}
	if j.StdOut == "" {
		return fmt.Errorf("where job %d wrote its output is no longer known: Slurm forgets that some minutes after the end", w.id)
	}
	if w.follow {
		a.sayFollowed(w.asked, j)
	} else {
		a.sayTask(w.asked, j)
	}
	switch apart, err := a.apart(ctx, s, j); {
	case err != nil:
		return err
	case apart == job.ByFile:
		return a.rankFiles(ctx, s, j, w, rank)
	}
	return a.rankLines(ctx, s, j, w, rank)
}

// apart says how the ranks of a job can be told apart, and fails where that is not so or not known.
func (a *app) apart(ctx context.Context, s slurm.Client, j slurm.Job) (job.Apart, error) {
	script, err := s.Script(ctx, j.ID)
	if script == nil && j.Command != "" { // accounting has it when the job begins, and not on every cluster
		script, err = whole.Read(j.Command)
	}
	if script == nil {
		err = errors.Join(err, errors.New("neither Slurm's accounting nor its file has it"))
		return 0, fmt.Errorf("the batch script of job %d cannot be read, so that nobody can say whose a line is: %w; %s prints all", j.ID, err, a.command("job logs %d", j.ID))
	}
	apart := job.ApartIn(script)
	if apart == job.Together {
		why := "its batch script has no `srun --label`"
		if bytes.Contains(script, []byte("accelerate.commands.launch")) {
			why = "accelerate writes those of a node together"
		}
		return 0, fmt.Errorf("what the ranks of job %d write cannot be told apart: %s; %s prints all", j.ID, why, a.command("job logs %d", j.ID))
	}
	return apart, nil
}

// rankLines takes the lines of ranks out of the job's log.
func (a *app) rankLines(ctx context.Context, s slurm.Client, j slurm.Job, w rankWish, rank int) (err error) {
	out := page.Guarded(a.out)
	defer func() { err = errors.Join(err, out.Flush()) }()
	seen := &counted{to: out}
	lines := &job.RankLines{Rank: rank, To: seen}
	if w.follow {
		_, err := a.followBy(ctx, job.Follower{Slurm: s, Out: lines, Say: a.sayOf(w.id), Fate: fates(s).of, BurnIn: burnInsHere()}, w.id)
		return errors.Join(lines.Flush(), err)
	}
	output := job.Output{Path: j.StdOut, UID: j.UID, Since: job.WrittenSince(j)}
	defer output.Close()
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = output.Copy(lines); err != nil {
			return fmt.Errorf("print the output of job %d: %w", w.id, err)
		}
	}
	if err := lines.Flush(); err != nil || ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if !output.Open() {
		return fmt.Errorf("job %d has no output: there is no file %s", w.id, j.StdOut)
	}
	return seen.none(w, j.StdOut)
}

// rankFiles prints the files of ranks.
func (a *app) rankFiles(ctx context.Context, s slurm.Client, j slurm.Job, w rankWish, rank int) (err error) {
	a.note("torchrun keeps apart what ranks write to stderr; what they print to stdout stands together in the job's log")
	out := page.Guarded(a.out)
	seen := &counted{to: out}
	reader := &job.RankReader{Rank: rank, To: seen, Begins: func(run string) { a.note("run %s of job %d:", run, w.id) }}
	defer func() { err = errors.Join(err, reader.Close(), out.Flush()) }()
	if !w.follow {
		ranks, err := reader.Look(j)
		if err == nil && rank >= ranks && ranks > 0 {
			return fmt.Errorf("job %d has no rank %d: those of 0 to %d have written", w.id, rank, ranks-1)
		}
		return errors.Join(err, seen.none(w, "the ranks' files beside "+j.StdOut))
	}
	var next time.Time
	_, err = a.followBy(ctx, job.Follower{Slurm: s, Say: a.sayOf(w.id), Fate: fates(s).of, BurnIn: burnInsHere(), Also: func(j slurm.Job) error {
		began := time.Now()
		if began.Before(next) && !j.Ended() {
			return nil
		}
		_, err := reader.Look(j)
		next = began.Add(max(rankPace, rankShare*time.Since(began))) // many files take long
		return err
	}}, w.id)
	return err
}

// How often the files of ranks are looked at: at most one look of so many parts of the time.
const (
	rankPace  = 300 * time.Millisecond
	rankShare = 20
)

// counted counts what passes.
type counted struct {
	to interface{ Write([]byte) (int, error) }
	n  int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// none is the error where nothing was written.
func (c *counted) none(w rankWish, where string) error {
	switch {
	case c.n > 0:
		return nil
	case w.rank == "all":
		return fmt.Errorf("%s has nothing of any rank yet", where)
	}
	return fmt.Errorf("%s has nothing of rank %s", where, w.rank)
}
