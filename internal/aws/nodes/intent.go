package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/aws/nodes/journal"
	"github.com/muster-hpc/muster/internal/provider"
)

// intent is a launch whose result is not known: the process died, or
// the answer was lost.
//
//	begun -> called -> answered -> shown by EC2: forgotten
//	           |  `-> refused: forgotten
//	           `-> lost: open -> asked again with the same token: answered or refused
//	                      `---> not asked for again, and not shown by EC2 for long: forgotten
type intent struct {
	journal.Launch
	// busy has room for the one call that asks again.
	busy chan struct{}
}

func newIntent(l journal.Launch) *intent { return &intent{Launch: l, busy: make(chan struct{}, 1)} }

// unsettled finds an open launch of one of the nodes. The caller holds mu.
func (f *Fleet) unsettled(nodes []string) *intent {
	for _, i := range f.open {
		if slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(i.Nodes, n) }) {
			return i
		}
	}
	return nil
}

// settle asks again what became of an open launch: EC2 answers a repeated token with
// the instances that it started for it, or starts them now. Nodes that are not wanted
// any more are then seen by Observe like all others, and ended by the caller that
// decides about nodes.
func (f *Fleet) settle(ctx context.Context, i *intent, started func([]provider.Instance)) error {
	select {
	case i.busy <- struct{}{}:
		defer func() { <-i.busy }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !f.isOpen(i.Token) {
		return nil
	}
	if f.Now().Sub(i.At) > f.Limits.Settled {
		return f.settleByLooking(ctx, i)
	}
	var r request
	if err := json.Unmarshal(i.Request, &r); err != nil {
		return f.settleByLooking(ctx, i)
	}
	if _, err := f.call(ctx, i, r, started); err != nil && f.isOpen(i.Token) {
		return fmt.Errorf("ask what became of the launch at %s: %w", i.At.Format(time.RFC3339), err)
	}
	return nil // a launch of these nodes may go on
}

func (f *Fleet) isOpen(token string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[token] != nil
}

// settleByLooking forgets a launch that is so old that EC2 shows all of what came of
// it. Its token is not used again, which could start new instances.
func (f *Fleet) settleByLooking(ctx context.Context, i *intent) error {
	if f.Now().Sub(i.At) <= f.Limits.Settled {
		return fmt.Errorf("wait until EC2 shows what came of the launch at %s", i.At.Format(time.RFC3339))
	}
	if _, err := f.Observe(ctx); err != nil {
		return err
	}
	f.forget(i.Token)
	return nil
}

// forget takes launches out of the journal. If that fails they are asked for once
// more after the next start, which does no harm.
func (f *Fleet) forget(tokens ...string) {
	f.mu.Lock()
	for _, t := range tokens {
		delete(f.open, t)
		delete(f.answers, t)
	}
	f.mu.Unlock()
	if err := f.book.Settle(tokens...); err != nil {
		f.Log.Warn("the journal of launches cannot be written", "error", err)
	}
}

// expired are the launches that need not be remembered after a look at EC2 that
// began at a time: lost ones that EC2 has not shown for long, and answered
// ones whose instances EC2 shows. The caller holds mu.
func (f *Fleet) expired(began time.Time) (tokens []string) {
	for token, i := range f.open {
		if began.Sub(i.At) > f.Limits.Settled && len(i.busy) == 0 {
			tokens = append(tokens, token)
		}
	}
	waiting := map[string]bool{}
	for _, m := range f.machines {
		if !m.shown || f.answers[m.launch].fleet {
			waiting[m.launch] = true
		}
	}
	for token, a := range f.answers {
		if !waiting[token] && a.at.Before(began) {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// answer is a launch of the journal whose instances are known. Those of a fleet
// carry no number, so that the journal remembers them for as long as they live.
type answer struct {
	at    time.Time
	fleet bool
}
