package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func TestParseWorkload_accounts(t *testing.T) {
	got, problems := spec.ParseWorkload("muster.yaml", []byte(`
Accounts:
  - {Name: research, FairShare: 60, GrpTRES: "node=8,gres/gpu=64", MaxWall: 2-00:00:00, QOS: [normal, low], DefaultQOS: low}
  - {Name: nlp, Parent: research, Description: "Language", Users: [ann, bob], MaxJobs: 4, FairShare: parent, MaxTRESMins: ""}
QOS:
  - {Name: low, Priority: 10, GraceTime: 60}
  - {Name: urgent, Priority: 1000, Preempt: [low], MaxWall: 720, UsageFactor: 2}
`), fleet)
	if got != nil || !problems.HasErrors() {
		t.Fatal("an empty limit is accepted")
	}
	got, problems = spec.ParseWorkload("muster.yaml", []byte(`
Accounts:
  - {Name: research, FairShare: 60, GrpTRES: "node=8,gres/gpu=64", MaxWall: 2-00:00:00, QOS: [normal, low], DefaultQOS: low}
  - {Name: nlp, Parent: research, Description: "Language", Users: [ann, bob], MaxJobs: 4, FairShare: parent}
QOS:
  - {Name: low, Priority: 10, GraceTime: 60}
  - {Name: urgent, Priority: 1000, Preempt: [low], MaxWall: 12:00:00, UsageFactor: 2}
`), fleet)
	if problems.Len() != 0 {
		t.Fatal(text(t, problems))
	}
	accounts := []spec.Account{
		{Name: "research", Wishes: []spec.Wish{{Key: "DefaultQOS", Value: "low"}, {Key: "FairShare", Value: "60"}, {Key: "GrpTRES", Value: "node=8,gres/gpu=64"},
			{Key: "MaxWall", Value: "2-00:00:00"}, {Key: "QOS", Value: "normal,low"}}},
		{Name: "nlp", Parent: "research", Users: []string{"ann", "bob"},
			Wishes: []spec.Wish{{Key: "Description", Value: "Language"}, {Key: "FairShare", Value: "parent"}, {Key: "MaxJobs", Value: "4"}}},
	}
	qualities := []spec.QOS{
		{Name: "low", Wishes: []spec.Wish{{Key: "GraceTime", Value: "60"}, {Key: "Priority", Value: "10"}}},
		{Name: "urgent", Preempt: []string{"low"}, Wishes: []spec.Wish{{Key: "MaxWall", Value: "12:00:00"}, {Key: "Preempt", Value: "low"},
			{Key: "Priority", Value: "1000"}, {Key: "UsageFactor", Value: "2"}}},
	}
	places := cmpopts.IgnoreTypes(diag.Place{})
	if diff := cmp.Diff(accounts, got.Accounts, places) + cmp.Diff(qualities, got.QOS, places); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := got.Accounts[1].Wishes[2].Place; p.Line != 4 || p.Path != "Accounts[1].MaxJobs" {
		t.Errorf("MaxJobs is at %+v", p)
	}
	if want := []string{"associations", "limits", "qos", "safe"}; !cmp.Equal(got.Enforced(), want) || !got.Preempts() || !got.Accounted() {
		t.Errorf("enforced %v, preempts %v", got.Enforced(), got.Preempts())
	}
}

func TestEnforced(t *testing.T) {
	for data, want := range map[string]string{
		"{}":                                   "",
		"QOS: [{Name: a}]":                     "",
		"Accounts: [{Name: a, Users: [b]}]":    "associations,limits,qos,safe",
		"{Enforce: [], Accounts: [{Name: a}]}": "",
		"{Enforce: [qos], Accounts: [{Name: a}, {Name: b, Users: [c]}]}": "qos",
	} {
		w, problems := spec.ParseWorkload("muster.yaml", []byte(data), nil)
		if w == nil || problems.HasErrors() {
			t.Errorf("%s: %s", data, text(t, problems))
		} else if got := strings.Join(w.Enforced(), ","); got != want || w.Accounted() != (data != "{}") {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}

func TestParseWorkload_account_problems(t *testing.T) {
	rows := []refusedFile{
		{"no_name", "Accounts: [{Users: [ann]}]\nQOS: [{Priority: 1}]\n"},
		{"names", "Accounts: [{Name: Research, Users: ['ann smith']}, {Name: 'a b', Users: [x]}]\nQOS: [{Name: 'a,b'}]\n"},
		{"twice", "Accounts: [{Name: a, Users: [x, y, x]}, {Name: a}]\nQOS: [{Name: q}, {Name: q}]\n"},
		{"parent_unknown", "Accounts: [{Name: research, Users: [x]}, {Name: b, Parent: reserch}]\n"},
		{"circle", "Accounts: [{Name: a, Parent: c, Users: [x]}, {Name: b, Parent: a}, {Name: c, Parent: b}, {Name: d, Parent: a}]\n"},
		{"own_parent", "Accounts: [{Name: a, Parent: a, Users: [x]}]\n"},
		{"root_below_another", "Accounts: [{Name: a, Users: [x]}, {Name: root, Parent: a}]\n"},
		{"tres", "Accounts: [{Name: a, Users: [x], GrpTRES: gpu=4, GrpTRESMins: cpu, MaxTRES: 'node=4,node=5', MaxTRESPerNode: 'cpu=4G,mem=1T', GrpTRESRunMins: 'cpu=-1'}]\n"},
		{"tres_of_a_type", "QOS: [{Name: a, GrpTRES: 'gres/gpu:h200=8', MinTRES: 'license/x=1'}]\n"},
		{"times", "QOS: [{Name: a, MaxWall: forever, GrpWall: [1]}, {Name: b, MaxWall: , GrpWall: 1-2-3}]\n"},
		{"numbers", "Accounts: [{Name: a, Users: [x], MaxJobs: -1, GrpJobs: many, FairShare: 0}, {Name: b, FairShare: half}]\n"},
		{"qos_unknown", "Accounts: [{Name: a, Users: [x], QOS: [hihg, normal], DefaultQOS: low}]\nQOS: [{Name: high, Preempt: [lo]}]\n"},
		{"default_not_allowed", "Accounts: [{Name: a, Users: [x], QOS: [normal], DefaultQOS: high}]\nQOS: [{Name: high}]\n"},
		{"give_way_to_each_other", "QOS: [{Name: a, Preempt: [b]}, {Name: b, Preempt: [a]}, {Name: c, Preempt: [c]}]\n"},
		{"give_way_in_a_circle", "QOS: [{Name: b, Preempt: [c]}, {Name: c, Preempt: [a, d]}, {Name: a, Preempt: [b]}, {Name: d}, {Name: x, Preempt: [y]}, {Name: y, Preempt: [z]}, {Name: z, Preempt: [y, x]}]\n"},
		{"hostile_names", "Accounts: [{Name: 'a=b', Users: ['x,y', \"o'brien\", 'jörg', '-i', '']}, {Name: ''}, {Name: 'a\"b'}, {Name: 'a b'}, {Name: ünï}, {Name: '-i'}]\nQOS: [{Name: 'a=b'}, {Name: '+low'}, {Name: 'where'}]\n"},
		{"texts", "Accounts: [{Name: a, Users: [x], Description: \"two\\nlines\", Organization: \"'quoted'\"}]\nQOS: [{Name: q, Description: \"\\x1b[2J\"}]\n"},
		{"words", "QOS: [{Name: a, Preempt: b, PreemptMode: SUSPEND, Flags: [Whatever], GraceTime: 1 min, UsageFactor: -1}]\nEnforce: [everything]\n"},
		{"enforced_without_accounts", "Enforce: [associations]\n"},
	}
	checkRefused(t, "workload-account-problems.txt", fleet, rows)
}

// What stands against accounts elsewhere is said, and no error.
func TestParseWorkload_account_hints(t *testing.T) {
	custom := *fleet
	custom.Scheduling.Slurm.Custom = []spec.Setting{{Key: "PriorityWeightQos", Value: "5"}, {Key: "AccountingStorageTRES", Value: "gres/gpu,license/x"}}
	custom.Scheduling.Slurm.ExternalSlurmdbd = &spec.Slurmdbd{Host: "dbd"}
	var b strings.Builder
	for name, data := range map[string]string{"nobody": "Accounts: [{Name: a}]\n"} {
		w, problems := spec.ParseWorkload("muster.yaml", []byte(data), fleet)
		if w == nil {
			t.Errorf("%s is refused", name)
		}
		b.WriteString("== " + name + "\n" + text(t, problems))
	}
	w, problems := spec.ParseWorkload("muster.yaml", []byte("QOS: [{Name: a, GrpTRES: 'license/x=4'}]\n"), &custom)
	if w == nil {
		t.Error("settings of one's own are refused")
	}
	b.WriteString("== elsewhere\n" + text(t, problems))
	golden.Check(t, "workload-account-hints.txt", b.String())
}
