package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/slurm"
)

// The jobs of each user are looked at one after the other, and those of all users beside each other.
// Whoever is at it holds the keeper's lock, but for the time in which a user's files are asked: these
// may hang, which is no other user's matter.

const (
	// patience is how long a round waits for users whose files are slow. They go on without it.
	patience = 2 * time.Second
	// awayAtOnce is how many users' files are asked at a time.
	awayAtOnce = 16
)

// away does what may take long, and lets others go on meanwhile.
func (k *Keeper) away(ask func()) {
	k.lock.Unlock()
	defer k.lock.Lock()
	k.slots <- struct{}{}
	defer func() { <-k.slots }()
	ask()
}

// shifts has the jobs of each user looked at, but of those whose last shift has not ended. What it
// returns is closed when all are done.
func (k *Keeper) shifts(ctx context.Context, there map[int]slurm.Job, now time.Time) (done chan struct{}) {
	byUser := map[errand.User][]int{}
	for _, id := range slices.Sorted(maps.Keys(k.records)) {
		if r := k.records[id]; !k.busy[r.user()] && (r.active() || there[id].ID == id && !there[id].Ended()) {
			byUser[r.user()] = append(byUser[r.user()], id)
		}
	}
	done = make(chan struct{})
	open := len(byUser)
	if open == 0 {
		close(done)
	}
	k.turns++
	mine := k.turns
	for u, ids := range byUser {
		k.busy[u] = true
		k.hands.Go(func() {
			k.lock.Lock()
			defer k.lock.Unlock()
			defer func() {
				if wrong := recover(); wrong != nil {
					k.broken = wrong
				}
				delete(k.busy, u)
				if open--; open == 0 {
					close(done)
				}
				if k.turns != mine {
					k.Wake() // the round has not waited for it
				}
			}()
			k.troubles[u] = k.shift(ctx, ids, there, now, func() bool { return k.turns == mine })
		})
	}
	return done
}

// shift looks at the jobs of a user. Those that it comes to after the round are left to the next
// one: what Slurm said of them is old.
func (k *Keeper) shift(ctx context.Context, ids []int, there map[int]slurm.Job, now time.Time, fresh func() bool) error {
	var errs []error
	longest := func(a, b int) int { return cmp.Compare(k.records[a].turn, k.records[b].turn) }
	slices.SortStableFunc(ids, longest) // since it came to them
	for _, id := range ids {
		r := k.records[id]
		if r == nil || !fresh() || !r.active() && !again(r, there[id]) {
			continue
		}
		r.turn = k.turns
		if err := k.keepWhole(ctx, r, there, now); err != nil {
			errs = append(errs, fmt.Errorf("keep job %s: %w", r.Label, err))
		}
	}
	return errors.Join(errs...)
}

// keepWhole does one round of one job. A record that nobody thought of ends nothing but that.
func (k *Keeper) keepWhole(ctx context.Context, r *record, there map[int]slurm.Job, now time.Time) (err error) {
	defer func() {
		wrong := recover()
		if fault, ours := wrong.(runtime.Error); ours {
			err = fmt.Errorf("what is known of it makes no sense: %w", fault)
			if !r.odd {
				r.odd = true
				k.Log.Error("a job cannot be kept", "job", r.Label, "error", fault, "stack", string(debug.Stack()))
			}
		} else if wrong != nil {
			panic(wrong)
		}
	}()
	return k.keep(ctx, r, there, now)
}

// trouble are the errors of all users' last shifts.
func (k *Keeper) trouble() error {
	var errs []error
	byID := func(a, b errand.User) int { return a.UID - b.UID }
	for _, u := range slices.SortedStableFunc(maps.Keys(k.troubles), byID) {
		errs = append(errs, k.troubles[u])
	}
	return errors.Join(errs...)
}

// patient asks users' files as rounds do: others go on meanwhile.
type patient struct {
	away func(ask func())
	files
	scribe
}

func (p patient) Read(ctx context.Context, u errand.User, r errand.Reading) (c errand.Chunk, err error) {
	p.away(func() { c, err = p.files.Read(ctx, u, r) })
	return c, err
}

func (p patient) Checkpoints(ctx context.Context, u errand.User, dirs []string) (all []errand.Checkpoint, err error) {
	p.away(func() { all, err = p.files.Checkpoints(ctx, u, dirs) })
	return all, err
}

func (p patient) Mend(ctx context.Context, u errand.User, m errand.Mending) (d errand.Diagnosis, err error) {
	p.away(func() { d, err = p.files.Mend(ctx, u, m) })
	return d, err
}

func (p patient) Put(ctx context.Context, u errand.User, f errand.File) (err error) {
	p.away(func() { err = p.scribe.Put(ctx, u, f) })
	return err
}

func (p patient) Extend(ctx context.Context, u errand.User, e errand.Extension) (err error) {
	p.away(func() { err = p.scribe.Extend(ctx, u, e) })
	return err
}

// patiently has the keeper ask all that is a user's so.
func (k *Keeper) patiently() {
	k.slots, k.busy, k.troubles = make(chan struct{}, awayAtOnce), map[errand.User]bool{}, map[errand.User]error{}
	k.again = map[int]try{}
	p := patient{away: k.away, files: k.Files, scribe: k.Scribe}
	k.Files = p
	if k.Scribe != nil {
		k.Scribe = p
	}
}
