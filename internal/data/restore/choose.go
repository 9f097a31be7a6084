package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// Want says which checkpoint.
type Want struct {
	Name string // its name, or its path below the prefix; "" for the newest whole one
	Step int64  // checkpoint.NoStep for the newest whole one
}

// Passed is a checkpoint that was not taken, and why.
type Passed struct {
	Checkpoint string `json:"checkpoint"`
	Why        string `json:"why"`
	Doubt      bool   `json:"doubt,omitempty"` // nothing is known to be missing: by its name it is taken
}

// ErrNone says that there is no checkpoint that could be brought.
var ErrNone = errors.New("there is no whole checkpoint")

// Choose looks at checkpoints, the newest first, until one is whole. One that is wanted by name is taken also if there is
// only doubt about it, and refused if something of it is missing.
func (v *View) Choose(ctx context.Context, w Want) (*Found, []Passed, error) {
	all, err := v.wanted(w)
	if err != nil {
		return nil, nil, err
	}
	named := w.Name != "" || w.Step != checkpoint.NoStep
	var passed []Passed
	var before *Found // the one that was listed already, as the next newer one was compared with it
	for i, c := range all {
		f := before
		if before = nil; f == nil {
			if f, err = v.list(ctx, c); err != nil {
				return nil, passed, err
			}
		}
		if err := v.judge(ctx, f); err != nil {
			return nil, passed, err
		}
		if f.Torn == "" && f.Doubt == "" && !f.sure() && i+1 < len(all) && !all[i+1].single {
			if before, err = v.list(ctx, all[i+1]); err != nil {
				return nil, passed, err
			}
			f.compare(before)
		}
		if f.Torn == "" && (f.Doubt == "" || named) {
			return f, passed, nil
		}
		passed = append(passed, Passed{f.Dir, cmp.Or(f.Torn, f.Doubt), f.Torn == ""})
	}
	if named && len(passed) > 0 {
		return nil, passed, fmt.Errorf("%s is not whole", page.Printable(passed[0].Checkpoint))
	}
	return nil, passed, ErrNone
}

// compare doubts a checkpoint that lacks what the one before it has.
func (f *Found) compare(before *Found) {
	if lack := checkpoint.Lacks(f.parts(), before.parts()); lack != "" {
		f.Doubt = fmt.Sprintf("it has no %s, which %s has", lack, before.Dir)
		return
	}
	if !f.mute || f.certain {
		return // it says how many files it has
	}
	if kind, have, had := checkpoint.Fewer(f.parts(), before.parts(), f.counted); kind != "" {
		f.Doubt = fmt.Sprintf("it has %s %s, and %s has %d", count.Of(have, "file"), kind, before.Dir, had)
	}
}

// wanted are the checkpoints of one run that may be taken, the best first.
func (v *View) wanted(w Want) ([]*candidate, error) {
	var all []*candidate
	runs := map[string]bool{}
	name := strings.Trim(w.Name, "/")
	byPath := slices.ContainsFunc(v.all, func(c *candidate) bool { return c.dir == name }) // then it is no name of others
	for _, c := range v.all {
		if name != "" && name != c.dir && (byPath || name != path.Base(c.dir)) || w.Step != checkpoint.NoStep && w.Step != c.step() {
			continue
		}
		all = append(all, c)
		runs[c.run()] = true
	}
	if len(all) == 0 {
		return nil, v.none(w)
	}
	pointed := map[*candidate]int{} // where names have no step, a pointer says which one is the newest
	for _, c := range all {
		if c.step() == checkpoint.NoStep && v.latest(c) {
			pointed[c] = 1
		}
	}
	slices.SortStableFunc(all, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.step(), a.step()), cmp.Compare(pointed[b], pointed[a]), b.at.Compare(a.at), strings.Compare(a.dir, b.dir))
	})
	if len(runs) > 1 {
		return nil, several(all, slices.Sorted(maps.Keys(runs)))
	}
	return all, nil
}

// latest reports whether a pointer to the newest checkpoint names this one.
func (v *View) latest(c *candidate) bool {
	return slices.ContainsFunc(v.pointers, func(p pointed) bool {
		return (checkpoint.Pointer(p.path) || path.Base(p.path) == "last") && p.names(c.dir)
	})
}

// none says what there is instead of what is wanted.
func (v *View) none(w Want) error {
	if len(v.all) == 0 {
		return errors.New("there is no checkpoint that this program knows")
	}
	var names []string
	for _, c := range v.all[:min(len(v.all), 10)] {
		names = append(names, page.Printable(c.dir))
	}
	what := "checkpoint " + w.Name
	if w.Name == "" {
		what = fmt.Sprintf("checkpoint of step %d", w.Step)
	}
	return fmt.Errorf("there is no %s; there is %s", what, strings.Join(names, ", "))
}

// Several says that there are checkpoints of several models.
type Several struct {
	Runs   []string // their directories below the prefix; "." is the prefix itself
	Newest []string // the path of the newest checkpoint of each, whole or not
}

// several makes one of checkpoints of which the newest come first.
func several(all []*candidate, runs []string) Several {
	s := Several{Runs: runs}
	for _, run := range runs {
		i := slices.IndexFunc(all, func(c *candidate) bool { return c.run() == run })
		s.Newest = append(s.Newest, all[i].dir)
	}
	return s
}

func (s Several) Error() string {
	var runs []string
	for _, run := range s.Runs {
		if run == "." {
			run = "that of the prefix itself"
		}
		runs = append(runs, page.Printable(run))
	}
	return "there are checkpoints of several models: " + strings.Join(runs, ", ")
}
