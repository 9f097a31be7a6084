package slurm

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// Newest are the numbers of the last n jobs, the newest first, and whether others may have been before them. slurmctld
// counts them; one that was refused has no number.
func (c Client) Newest(ctx context.Context, n int) (ids []int, more bool, err error) {
	conf, err := c.Conf(ctx)
	if err != nil {
		return nil, false, err
	}
	next, _ := strconv.Atoi(conf["NEXT_JOB_ID"])
	for id := next - 1; id >= 1 && len(ids) < n; id-- {
		ids = append(ids, id)
	}
	return ids, next-1 > n, nil
}

// Latest are the runs of History since a time, zero for ever, but of no more than the n newest jobs; more says that there are others.
//
// sacct takes 35 µs for each job that it finds, and has no limit: a window with very many jobs takes seconds. By number, it
// finds n of them in a few milliseconds.
func (c Client) Latest(ctx context.Context, since time.Time, n int) (runs []Run, odd []Problem, more bool, err error) {
	window := Window{Since: since}
	if since.IsZero() {
		window = Ever()
	}
	ids, more, err := c.Newest(ctx, n)
	if err == nil && more {
		runs, odd, err = c.History(ctx, Ever(ids...))
	}
	if err != nil {
		return nil, nil, false, err
	}
	if more && len(runs) > n/2 && (since.IsZero() || !submitted(runs).Before(since)) {
		return runs, odd, true, nil
	}
	runs, odd, err = c.History(ctx, window) // there are few, or the numbers have gaps
	runs, more = newestOf(runs, n)
	return runs, odd, more, err
}

// newestOf are the runs of the n newest of their jobs, and whether there are others.
func newestOf(runs []Run, n int) (some []Run, more bool) {
	ids := make([]int, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) <= n {
		return runs, false
	}
	first := ids[len(ids)-n]
	return slices.DeleteFunc(runs, func(r Run) bool { return r.ID < first }), true
}

// submitted is when the first of some runs was submitted.
func submitted(runs []Run) time.Time {
	first := runs[0].Submit
	for _, r := range runs {
		if r.Submit.Before(first) {
			first = r.Submit
		}
	}
	return first
}

// Ever is a window of all time, of some jobs or of all.
func Ever(ids ...int) Window { return Window{Jobs: ids, Since: beginning} }

// beginning is before all jobs, in every time zone. The beginning of Unix's time would not do: sacct takes it for none, and
// looks since midnight.
var beginning = time.Date(1970, 1, 3, 0, 0, 0, 0, time.UTC)
