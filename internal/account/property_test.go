package account_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/slurm"
)

// someFile is a muster.yaml of few names, so that one file often has what the one before it had.
func someFile(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	var b strings.Builder
	b.WriteString("{Accounts: [")
	var above []string
	for _, name := range []string{"a", "b", "c", "hand"} {
		if r.IntN(3) == 0 {
			continue
		}
		fmt.Fprintf(&b, "{Name: %s", name)
		if len(above) > 0 && r.IntN(2) == 0 {
			fmt.Fprintf(&b, ", Parent: %s", pick(above...))
		}
		users := []string{"ann", "bob", "eve"}
		r.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
		fmt.Fprintf(&b, ", Users: [%s]", strings.Join(users[:r.IntN(4)], ", "))
		for _, one := range []string{"MaxJobs: 4", "MaxJobs: 5", "FairShare: parent", "Description: words", "MaxTRES: 'cpu=4,node=2'", "MaxTRES: mem=1G", "MaxWall: 90"} {
			if key, _, _ := strings.Cut(one, ":"); r.IntN(5) == 0 && !strings.Contains(b.String()[strings.LastIndex(b.String(), "{"):], key) {
				b.WriteString(", " + one)
			}
		}
		b.WriteString("}, ")
		above = append(above, name)
	}
	b.WriteString("], QOS: [")
	var below []string
	for _, name := range []string{"low", "mid", "own", "high"} {
		if r.IntN(3) == 0 {
			continue
		}
		fmt.Fprintf(&b, "{Name: %s", name)
		if len(below) > 0 && r.IntN(2) == 0 {
			fmt.Fprintf(&b, ", Preempt: [%s]", pick(below...))
		}
		for _, one := range []string{"Priority: " + pick("1", "2"), "GraceTime: 60", "MaxWall: 1-00:00:00", "Flags: [NoDecay]"} {
			if r.IntN(3) == 0 {
				b.WriteString(", " + one)
			}
		}
		b.WriteString("}, ")
		below = append(below, name)
	}
	b.WriteString("]}")
	return strings.Replace(b.String(), "{Accounts: [], QOS: []}", "{}", 1)
}

// made is what of a world was not made by muster, as it is.
func (w *world) made(names ...string) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, name := range names {
		for of, values := range map[string]map[string]string{"account " + name: w.accounts[name], "qos " + name: w.qualities[name]} {
			if values != nil {
				all[of] = maps.Clone(values)
			}
		}
	}
	return all
}

// Whatever files follow each other, wherever the changes for them are cut off, and whatever jobs run: what is planned
// slurmdbd takes, afterwards nothing is left to do, no job loses what it has, and what people set stays.
func TestDecide_properties(t *testing.T) {
	const seeds, files = 200, 6
	conflicts := 0
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t)
		byHand := [][]string{
			{"add", "qos", "name=own", "Priority=2", "MaxWall=1-00:00:00"}, {"add", "account", "name=hand", "cluster=c", "Parent=root", "MaxJobs=4"},
			{"add", "user", "name=eve", "account=hand", "cluster=c"},
		}
		for _, args := range byHand[:r.IntN(len(byHand)+1)] {
			if err := w.run(args); err != nil {
				t.Fatal(err)
			}
		}
		hand := w.made("own", "hand")
		for range files {
			file := someFile(r)
			w.jobs = nil
			for user, of := range w.defaults {
				if r.IntN(4) == 0 {
					w.jobs = append(w.jobs, slurm.Job{ID: len(w.jobs) + 1, User: user, Account: of, QOS: []string{"low", "normal", "own"}[r.IntN(3)], State: "RUNNING"})
				}
			}
			p := w.plan(t, file)
			if p.Conflicts.Len() > 0 {
				conflicts++
				continue
			}
			w.killed = r.IntN(3)
			w.apply(t, file, r.IntN(len(p.Changes)+1))
			w.apply(t, file, -1)
			if n, words, _ := w.apply(t, file, -1); n != 0 {
				t.Fatalf("seed %d: a second time %s does %q", seed, file, words)
			}
			for _, j := range w.jobs {
				if !slices.Contains(w.members[j.Account], j.User) || w.qualities[j.QOS] == nil && (j.QOS != "own" && j.QOS != "low") {
					t.Fatalf("seed %d: job %+v lost its account or QOS", seed, j)
				}
			}
		}
		w.jobs = nil
		w.apply(t, "{}", -1)
		if diff := cmp.Diff(hand, w.made("own", "hand")); diff != "" {
			t.Errorf("seed %d: what was made by hand (-before +after):\n%s", seed, diff)
		}
		if len(w.accounts) > 2 || len(w.qualities) > 2 {
			t.Errorf("seed %d: muster left %v %v", seed, w.accounts, w.qualities)
		}
	}
	if conflicts == 0 || conflicts == seeds*files {
		t.Errorf("%d conflicts", conflicts)
	}
}
