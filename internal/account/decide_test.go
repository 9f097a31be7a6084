package account_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

const full = `
Accounts:
  - {Name: nlp, Parent: research, Description: "All of it", Users: [ann, bob], MaxJobs: 4, FairShare: parent}
  - {Name: research, FairShare: 60, GrpTRES: "node=8,gres/gpu=64,mem=1T", MaxWall: 90, QOS: [normal, low], DefaultQOS: low}
  - {Name: vision, Users: [ann], MaxTRES: cpu=4}
QOS:
  - {Name: urgent, Priority: 1000, Preempt: [low, normal], MaxWall: 12:00:00, UsageFactor: 2, Flags: [NoDecay, DenyOnLimit], MaxTRESPerUser: gres/gpu=16}
  - {Name: low, Priority: 10, GraceTime: 60}
`

const less = `
Accounts:
  - {Name: vision, Users: [ann], MaxTRES: gres/gpu=8}
  - {Name: research, FairShare: 60, MaxWall: 1:30:00}
QOS:
  - {Name: low, Priority: 20}
`

// parsed are files that were read, by their text.
var parsed sync.Map

func workload(t *testing.T, text string) *spec.Workload {
	t.Helper()
	if w, ok := parsed.Load(text); ok {
		return w.(*spec.Workload)
	}
	w, problems := spec.ParseWorkload("muster.yaml", []byte(text), nil)
	if w == nil {
		t.Fatal(problems.Err())
	}
	parsed.Store(text, w)
	return w
}

// world is a database, the record of what was done to it, and the jobs of the cluster.
type world struct {
	*database
	record []byte
	jobs   []slurm.Job
	// killed is where it is cut off.
	killed int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{database: newDatabase(), record: []byte("{}")}
}

func (w *world) plan(t *testing.T, text string) account.Plan {
	t.Helper()
	var before account.Record
	if err := json.Unmarshal(w.record, &before); err != nil {
		t.Fatal(err)
	}
	have := w.have()
	have.Jobs = w.jobs
	return account.Decide(account.Question{Cluster: "c", Workload: workload(t, text), Have: have, Before: before})
}

// apply does the first of the changes for a file, all with -1, and returns how many there were and what is kept.
func (w *world) apply(t *testing.T, text string, first int) (n int, words, kept []string) {
	t.Helper()
	p := w.plan(t, text)
	if p.Conflicts.Len() != 0 {
		t.Fatal(p.Conflicts.Err())
	}
	r := p.Record
	save := func(r account.Record) {
		var err error
		if w.record, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range p.Changes {
		switch {
		case i == first && w.killed == killedBefore:
			save(r.Before(c))
			return len(p.Changes), words, p.Kept
		case i == first && w.killed != killedAfter:
			return len(p.Changes), words, p.Kept
		}
		save(r.Before(c))
		if err := w.run(c.Args); err != nil {
			t.Fatalf("%s: %q: %v", c.Text, c.Args, err)
		}
		words = append(words, c.Text)
		if i == first {
			return len(p.Changes), words, p.Kept
		}
		r = r.After(c)
		save(r)
	}
	return len(p.Changes), words, p.Kept
}

// Where an apply of a world is cut off: between two changes, between the record and the command, or between the
// command and the record.
const (
	killedBetween = iota
	killedBefore
	killedAfter
)

// After its changes there is nothing left to change, whatever there was before and wherever it was cut off.
func TestDecide_reaches_its_end_from_anywhere(t *testing.T) {
	whole := newWorld(t)
	n, _, _ := whole.apply(t, full, -1)
	if again, words, _ := whole.apply(t, full, -1); again != 0 {
		t.Fatalf("a second time it does %q", words)
	}
	back, _, _ := whole.apply(t, less, -1)
	if again, words, _ := whole.apply(t, less, -1); again != 0 {
		t.Fatalf("a second time it does %q", words)
	}
	none := newWorld(t).have()
	for _, killed := range []int{killedBetween, killedBefore, killedAfter} {
		for cut := range n {
			w := newWorld(t)
			w.killed = killed
			w.apply(t, full, cut)
			w.apply(t, full, -1)
			for then := range back {
				w.apply(t, less, then)
			}
			w.apply(t, less, -1)
			if diff := cmp.Diff(whole.have(), w.have()); diff != "" {
				t.Errorf("cut off after %d changes (-whole +cut):\n%s", cut, diff)
			}
			w.apply(t, "{}", cut)
			w.apply(t, "{}", -1)
			if diff := cmp.Diff(none, w.have()); diff != "" {
				t.Errorf("cut off after %d changes, there remains (-none +cut):\n%s", cut, diff)
			}
		}
	}
}

func TestDecide_words(t *testing.T) {
	w := newWorld(t)
	_, words, _ := w.apply(t, full, -1)
	_, then, _ := w.apply(t, less, -1)
	want := []string{
		"add QOS urgent: Flags=NoDecay,DenyOnLimit, MaxTRESPerUser=gres/gpu=16, MaxWall=12:00:00, Priority=1000, UsageFactor=2",
		"add QOS low: GraceTime=60, Priority=10", "QOS urgent: Preempt=low,normal",
		"add account research: DefaultQOS=low, FairShare=60, GrpTRES=node=8,gres/gpu=64,mem=1T, MaxWall=90, Parent=root, QOS=normal,low",
		"add account vision: MaxTRES=cpu=4, Parent=root, QOS=low,normal,urgent",
		"add account nlp: Description=All of it, FairShare=parent, MaxJobs=4, Parent=research",
		"add user ann to account nlp", "add user bob to account nlp", "add user ann to account vision",
	}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = []string{
		"QOS low: Priority=20 instead of 10",
		"account vision: MaxTRES=gres/gpu=8 instead of cpu=4, QOS=low,normal instead of low,normal,urgent",
		"user ann: the default account is vision instead of nlp",
		"QOS low: GraceTime is no longer 60",
		"account research: DefaultQOS is no longer low, GrpTRES is no longer gres/gpu=64,mem=1T,node=8",
		"remove user ann from account nlp", "remove user bob from account nlp", "remove account nlp", "remove QOS urgent",
	}
	if diff := cmp.Diff(want, then); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What people made or changed by hand stays, and so does what jobs need.
func TestDecide_leaves_what_is_not_its_own(t *testing.T) {
	w := newWorld(t)
	hand := func(args ...string) {
		t.Helper()
		if err := w.run(args); err != nil {
			t.Fatal(err)
		}
	}
	hand("add", "qos", "name=urgent", "Priority=1000", "MaxWall=12:00:00")
	hand("add", "account", "name=own", "cluster=c", "Parent=root")
	w.apply(t, full, -1)
	hand("add", "user", "name=eve", "account=research", "cluster=c")
	hand("add", "account", "name=below", "cluster=c", "Parent=vision")
	hand("modify", "account", "where", "name=research", "cluster=c", "set", "MaxWall=7")
	w.jobs = []slurm.Job{{ID: 5, User: "bob", Account: "nlp", QOS: "low", State: "RUNNING"}, {ID: 6, User: "ann", Account: "nlp", State: "COMPLETED"}}
	_, _, kept := w.apply(t, "{}", -1)
	want := []string{
		"user bob stays in account nlp while his jobs are there: 5", "account nlp stays: it has users: bob",
		"account research stays: it has users: eve", "account vision stays: it has accounts: below", "QOS low stays while jobs have it: 5",
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"own", "below", "research"} {
		if w.accounts[name] == nil {
			t.Errorf("account %s is gone", name)
		}
	}
	if w.qualities["urgent"]["Priority"] != "1000" || w.accounts["research"]["MaxWall"] != "7" || !slices.Contains(w.members["research"], "eve") {
		t.Errorf("what was made by hand is gone: %v %v", w.qualities, w.accounts["research"])
	}
	w.jobs = nil
	_, _, kept = w.apply(t, "{}", -1)
	if w.accounts["nlp"] != nil || len(w.members["nlp"]) > 0 || !slices.Contains(kept, "QOS low stays: it is the default of account research") {
		t.Errorf("without jobs: %v, kept %q", w.accounts, kept)
	}
}

// Where jobs are held to accounts, the owner of a cluster can run one.
func TestDecide_lets_the_owner_run_jobs(t *testing.T) {
	for text, want := range map[string]bool{
		"Accounts: [{Name: a, Users: [ann]}]":                true,
		"Accounts: [{Name: a, Users: [me]}]":                 false,
		"{Enforce: [], Accounts: [{Name: a, Users: [ann]}]}": false,
		"QOS: [{Name: q}]":                                   false,
	} {
		changes := account.Decide(account.Question{Cluster: "c", Workload: workload(t, text), Owner: "me", Have: newDatabase().have()}).Changes
		got := slices.ContainsFunc(changes, func(c account.Change) bool {
			return strings.Join(c.Args, " ") == "add user name=me account=root cluster=c"
		})
		if got != want {
			t.Errorf("%s: %v", text, changes)
		}
	}
}

// Slurm shows values in other words than people write them.
func TestDecide_knows_values_in_other_words(t *testing.T) {
	w := newWorld(t)
	w.apply(t, full, -1)
	a := w.accounts["research"]
	a["GrpTRES"], a["MaxWall"], a["QOS"] = "gres/gpu=64,mem=1048576M,node=8", "01:30:00", "low,normal"
	w.accounts["nlp"]["Description"] = "all of it"
	w.qualities["low"]["GraceTime"], w.qualities["urgent"]["UsageFactor"] = "00:01:00", "2.000000"
	w.qualities["urgent"]["Flags"], w.qualities["urgent"]["MaxWall"] = "DenyOnLimit,NoDecay", "12:00:00"
	if n, words, _ := w.apply(t, full, -1); n != 0 {
		t.Errorf("it does %q", words)
	}
}
