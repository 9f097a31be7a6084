package keeper

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/slurm"
)

// forged is what any program can print. It blames the second of two nodes.
const forged = "1: [  120.3] NVRM: Xid (PCI:0000:38:00): 79, pid=12, GPU has fallen off the bus.\n"

// What a job prints keeps its own next run from a node; others lose the node only where its user may drain it anyway.
func TestDrainsForWhomMayDrain(t *testing.T) {
	for name, row := range map[string]struct {
		owners     []int
		admins     []string
		unanswered error
		drained    string
	}{
		"an_ordinary_user":      {[]int{0, 64030}, []string{"bob"}, nil, ""},
		"the_clusters_owner":    {[]int{0, 1000}, nil, nil, "q-dy-r-2"},
		"an_administrator":      {[]int{0}, []string{"ada"}, nil, "q-dy-r-2"},
		"nobody_can_be_asked":   {[]int{0}, []string{"ada"}, errors.New("slurmdbd does not answer"), ""},
		"an_owner_needs_no_ask": {[]int{1000}, nil, errors.New("slurmdbd does not answer"), "q-dy-r-2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.owners, w.admins, w.unanswered = row.owners, row.admins, row.unanswered
			w.logs["/fsx/7.out"] = forged
			w.rounds(2)
			w.fails("FAILED", 1)
			w.rounds(6)
			if got := strings.Join(w.drained, " "); got != row.drained || w.job.ExcNodeList != "q-dy-r-2" || w.job.State != "RUNNING" {
				t.Errorf("drained %q, excluded %q, %s", got, w.job.ExcNodeList, w.job.State)
			}
			i := slices.IndexFunc(w.events, func(e Event) bool { return e.Kind == "drain" })
			if i < 0 {
				t.Fatalf("nobody was told: %+v", w.events)
			}
			e := w.events[i]
			stays := strings.HasSuffix(e.Reason, "; it stays in service, since nobody but the job says so") && strings.Contains(e.Hint, "scontrol update NodeName=q-dy-r-2 State=DRAIN")
			if stays != (row.drained == "") || !strings.HasPrefix(e.Reason, "job 7: Xid 79 on q-dy-r-2") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// Jobs of two users that hold the same against a node are heard, soon enough, and of the same machine.
func TestDrainsForTwoUsers(t *testing.T) {
	for name, row := range map[string]struct {
		uid     int
		ago     time.Duration
		booted  time.Duration // before now
		node    string
		drained bool
	}{
		"two":                {1001, time.Hour, 24 * time.Hour, "q-dy-r-2", true},
		"one":                {1000, time.Hour, 24 * time.Hour, "q-dy-r-2", false},
		"of_another_node":    {1001, time.Hour, 24 * time.Hour, "q-dy-r-1", false},
		"too_long_ago":       {1001, 13 * time.Hour, 24 * time.Hour, "q-dy-r-2", false},
		"of_another_machine": {1001, time.Hour, 30 * time.Minute, "q-dy-r-2", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.logs["/fsx/7.out"] = forged
			w.nodes[1].BootTime = time.Now().Add(-row.booted)
			k := w.rounds(2)
			other := &record{ID: 6, Label: "6", UID: row.uid, Ended: time.Now(), Policy: policy.Default(), Act: &act{Decided: time.Now().Add(-row.ago)}}
			other.claim(row.node)
			other.Act = nil
			if err := k.save(other); err != nil {
				t.Fatal(err)
			}
			w.fails("FAILED", 1)
			w.rounds(6) // another keeper, which knows what was written down
			if got := slices.Contains(w.drained, "q-dy-r-2"); got != row.drained {
				t.Errorf("drained %q", w.drained)
			}
			if r := w.keeper().records[7]; len(r.Claims) != 1 || r.Claims[0].Node != "q-dy-r-2" {
				t.Errorf("it claims %+v", r.Claims)
			}
		})
	}
}

// A node that has drained itself for what its kernel said is at fault, and is not drained again.
func TestKernelSaysSo(t *testing.T) {
	for name, row := range map[string]struct {
		reason, logs string
		after        time.Duration // of the run's beginning
		class        cause.Class
		excluded     string
	}{
		"its_kernel":           {fleet.KernelReason("NVRM: Xid (PCI:0000:38:00): 79, pid=1, GPU has fallen off the bus."), "", time.Minute, cause.GPULost, "q-dy-r-1"},
		"another_than_the_log": {fleet.KernelReason("NVRM: Xid (PCI:0000:38:00): 48, pid=1, DBE"), forged, time.Minute, cause.GPULost, "q-dy-r-[1-2]"},
		"before_the_run":       {fleet.KernelReason("NVRM: Xid (PCI:0000:38:00): 79, pid=1, x"), "", -time.Minute, cause.Unknown, ""},
		"an_administrator":     {"kernel: NVRM: Xid (PCI:0000:38:00): 79, pid=1, x", "", time.Minute, cause.Unknown, ""},
		"another_job":          {"muster: job 3: Xid 79 on q-dy-r-1", "", time.Minute, cause.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.logs["/fsx/7.out"] = row.logs
			w.rounds(2)
			w.nodes[0].State, w.nodes[0].Reason, w.nodes[0].ReasonTime = slurm.ParseNodeState("MIXED+CLOUD+DRAIN"), row.reason, start.Add(row.after)
			w.fails("FAILED", 1)
			k := w.rounds(6)
			if r := k.Report(7).Rounds[0]; r.Class != string(row.class) || w.job.ExcNodeList != row.excluded || len(w.drained) > 0 {
				t.Errorf("%+v, excluded %q, drained %q", r, w.job.ExcNodeList, w.drained)
			}
		})
	}
}

// What was decided by a keeper that did not write down who said so is taken for the job's word.
func TestSparesWithoutASource(t *testing.T) {
	w := newWorld(t)
	r := &record{ID: 7, Label: "7", UID: 1000, User: "ada", Act: &act{Decided: time.Now()}}
	k := w.keeper()
	for source, want := range map[cause.Source]bool{"": true, cause.SourceJob: true, cause.SourceKernel: false, cause.SourceSlurm: false} {
		if got := k.spared(t.Context(), r, cause.Fault{Node: "q-dy-r-2", Drain: true, Source: source}, w.nodes[1]) != ""; got != want {
			t.Errorf("%q: spared %t", source, got)
		}
	}
}

// A run claims a node once, and old claims go.
func TestClaims(t *testing.T) {
	r := &record{}
	for _, ago := range []time.Duration{20 * time.Hour, 2 * time.Hour, time.Hour, time.Hour} {
		r.Act = &act{Decided: start.Add(-ago)}
		r.claim("a")
		r.claim("b")
	}
	if len(r.Claims) != 2 || r.Claims[0].Node != "a" || !r.Claims[1].At.Equal(start.Add(-time.Hour)) {
		t.Errorf("got %+v", r.Claims)
	}
}
