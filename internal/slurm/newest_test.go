package slurm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// numbered answers as a cluster does that has had jobs 1 to so many, one an hour until the time at.
type numbered struct {
	jobs int
	// gap is how many numbers before the last three no job has.
	gap  int
	at   time.Time
	sets []string
}

func (n *numbered) Run(_ context.Context, name string, args ...string) ([]byte, error) {
	line := strings.Join(args, " ")
	if name == "scontrol" {
		return fmt.Appendf(nil, "FirstJobId              = 1\nNEXT_JOB_ID             = %d\n", n.jobs+1), nil
	}
	_, options, _ := strings.Cut(line, "--allocations")
	n.sets = append(n.sets, strings.TrimSpace(options))
	since, _, _ := strings.Cut(strings.TrimPrefix(options, " --starttime="), " ")
	from, err := parseTime(since, time.UTC)
	if err != nil {
		return nil, err
	}
	_, list, some := strings.Cut(options, "--jobs=")
	wanted := map[string]bool{}
	for id := range strings.SplitSeq(list, ",") {
		wanted[id] = true
	}
	delimiter := delimiterOf(args)
	out := strings.ReplaceAll("JobIDRaw,JobID,State,Submit", ",", delimiter)
	for id := 1; id <= n.jobs; id++ {
		submit := n.at.Add(time.Duration(id-n.jobs) * time.Hour)
		if hole := n.jobs - 3; id <= hole && id > hole-n.gap || some && !wanted[fmt.Sprint(id)] || submit.Before(from) {
			continue
		}
		out += "\n" + strings.Join([]string{fmt.Sprint(id), fmt.Sprint(id), "COMPLETED", submit.Format(timeLayout)}, delimiter)
	}
	return []byte(out), nil
}

func TestLatest(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		jobs  int
		since time.Time
		last  int
		first int
		count int
		more  bool
		asked int
	}{
		"few_of_all_time":            {5, time.Time{}, 10, 1, 5, false, 1},
		"as_many_as_may_be":          {10, time.Time{}, 10, 1, 10, false, 1},
		"many_of_all_time":           {1000, time.Time{}, 10, 991, 10, true, 1},
		"many_ever_and_few_today":    {1000, at.Add(-3*time.Hour - time.Minute), 10, 997, 4, false, 2},
		"many_ever_and_many_today":   {1000, at.Add(-30 * time.Hour), 10, 991, 10, true, 1},
		"exactly_as_many_as_allowed": {1000, at.Add(-9 * time.Hour), 10, 991, 10, true, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := &numbered{jobs: c.jobs, at: at}
			runs, odd, more, err := Client{Runner: n, Location: time.UTC}.Latest(t.Context(), c.since, c.last)
			if err != nil || len(odd) > 0 || len(runs) != c.count || runs[0].ID != c.first || more != c.more {
				t.Errorf("got %d runs, more %t, %v, %v", len(runs), more, odd, err)
			}
			if len(n.sets) != c.asked {
				t.Errorf("asked %q, %d times expected", n.sets, c.asked)
			}
		})
	}
}

// TestLatestOverGap holds that no more than was asked for comes where numbers were left out: all are read then.
func TestLatestOverGap(t *testing.T) {
	n := &numbered{jobs: 1000, gap: 500, at: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	c := Client{Runner: n, Location: time.UTC}
	runs, _, more, err := c.Latest(t.Context(), time.Time{}, 10)
	if err != nil || len(runs) != 10 || !more || runs[0].ID != 491 || runs[9].ID != 1000 {
		t.Errorf("got %d runs, more %t, %v: %+v", len(runs), more, err, runs)
	}
	if again, more := newestOf([]Run{{ID: 2}, {ID: 7}, {ID: 2}, {ID: 9}}, 2); len(again) != 2 || !more || again[0].ID != 7 {
		t.Errorf("%+v, %t", again, more)
	}
	if twice, more := newestOf([]Run{{ID: 2}, {ID: 2}}, 1); len(twice) != 2 || more {
		t.Errorf("two runs of one job: %+v, %t", twice, more)
	}
}

// TestEver holds that all time is no time that sacct takes for none.
func TestEver(t *testing.T) {
	for _, zone := range []int{-12, 0, 14} {
		loc := time.FixedZone("there", zone*3600)
		got := Ever(7, 8).args(loc)
		if diff := cmp.Diff("--jobs=7,8", got[1]); diff != "" {
			t.Error(diff)
		}
		from, err := parseTime(strings.TrimPrefix(got[0], "--starttime="), loc)
		if err != nil || from.Unix() <= 0 {
			t.Errorf("%d hours from Greenwich sacct is asked for %s: %v", zone, got[0], err)
		}
	}
}
