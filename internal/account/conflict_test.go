package account_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/slurm"
)

// other is an account of another cluster of the same slurmdbd that may have some QoS.
func other(account, qos string) slurm.Association {
	return slurm.Association{Cluster: "b", Account: account, Values: map[string]string{"QOS": qos}}
}

// What muster did not make, and what other clusters have, too, is not changed: before anything is done it is said where the file wants it.
func TestDecide_conflicts(t *testing.T) {
	const own = "Accounts:\n- {Name: research, Users: [ann], MaxJobs: 4}\nQOS:\n- {Name: low, Priority: 10, MaxWall: 60}\n"
	for _, row := range []struct {
		name string
		// before is a file that was applied, hand what somebody did then.
		before, hand, file string
		others             []slurm.Association
		want               []string
	}{
		{name: "limit_of_an_account", hand: "add account name=research cluster=c MaxJobs=5", file: own, want: []string{
			"2:43 Accounts[0].MaxJobs: account research was not made by muster: MaxJobs there is 5, and the file has 4: leave MaxJobs out, or change it by hand: sacctmgr modify account name=research cluster=c set MaxJobs=4",
		}},
		{name: "the_same_limit", hand: "add account name=research cluster=c MaxJobs=4", file: own},
		{name: "a_limit_that_nobody_set", hand: "add account name=research cluster=c Parent=root", file: own},
		{name: "a_limit_that_muster_set_there", before: own, hand: "", file: strings.Replace(own, "MaxJobs: 4", "MaxJobs: 7", 1)},
		{name: "a_limit_of_its_own_that_somebody_changed", before: own, hand: "modify account where name=research cluster=c set MaxJobs=9", file: own},
		{name: "moved", hand: "add account name=x cluster=c Parent=root;add account name=research cluster=c Parent=x", file: "Accounts:\n- {Name: y}\n- {Name: research, Parent: y}\n", want: []string{
			"3:3 Accounts[1]: account research was not made by muster: Parent there is x, and the file has y: write what it has, or change it by hand: sacctmgr modify account name=research cluster=c set Parent=y",
		}},
		{name: "stays_where_it_is", hand: "add account name=x cluster=c Parent=root;add account name=research cluster=c Parent=x", file: "Accounts:\n- {Name: research, Users: [ann]}\n"},
		{name: "qos_of_hand", hand: "add qos name=low Priority=3", file: own, want: []string{
			"4:25 QOS[0].Priority: QOS low was not made by muster: Priority there is 3, and the file has 10: leave Priority out, or change it by hand: sacctmgr modify qos low set Priority=10",
		}},
		{name: "qos_of_another_muster", hand: "add qos name=low Priority=3 Description=cluster|b,|made|by|muster", file: own, want: []string{
			"4:25 QOS[0].Priority: QOS low was made by muster for cluster b: Priority there is 3, and the file has 10: leave Priority out, or change it by hand: sacctmgr modify qos low set Priority=10",
		}},
		{name: "qos_of_this_muster_without_a_record", hand: "add qos name=low Priority=3 Description=cluster|c,|made|by|muster", file: own},
		{name: "own_qos_that_another_cluster_has", before: own, others: []slurm.Association{other("mine", "normal,low")}, file: strings.Replace(own, "Priority: 10", "Priority: 20", 1), want: []string{
			"4:25 QOS[0].Priority: QOS low is not this cluster's alone, cluster b has it in its account mine: Priority there is 10, and the file has 20: leave Priority out, or change it by hand: sacctmgr modify qos low set Priority=20",
		}},
		{name: "own_qos_that_another_cluster_adds", before: own, others: []slurm.Association{other("mine", "+low")}, file: strings.Replace(own, ", MaxWall: 60", "", 1), want: []string{
			"4:3 QOS[0]: QOS low is not this cluster's alone, cluster b has it in its account mine: the file no longer has MaxWall: write it again, or take it away for all by hand: sacctmgr modify qos low set MaxWall=-1",
		}},
		{name: "words_of_an_account_that_another_cluster_has", before: own, others: []slurm.Association{other("research", "")}, file: "Accounts: [{Name: research, Description: ours, Users: [ann]}]", want: []string{
			"1:42 Accounts[0].Description: account research is not this cluster's alone, cluster b has it, too: Description there is cluster c, made by muster, and the file has ours: leave Description out, or change it by hand: sacctmgr modify account name=research set Description=ours",
		}},
		{name: "limits_of_an_account_that_another_cluster_has", before: own, others: []slurm.Association{other("research", "")}, file: "Accounts: [{Name: research, MaxJobs: 9, Users: [ann]}]"},
		{name: "root_as_slurm_has_it", file: "Accounts: [{Name: root, Users: [ann], MaxJobs: 3, QOS: [normal, low]}]\nQOS: [{Name: low}]\n"},
		{name: "root_that_somebody_set", hand: "modify account where name=root cluster=c set MaxJobs=8", file: "Accounts: [{Name: root, Users: [ann], MaxJobs: 3}]\n", want: []string{
			"1:48 Accounts[0].MaxJobs: account root was not made by muster: MaxJobs there is 8, and the file has 3: leave MaxJobs out, or change it by hand: sacctmgr modify account name=root cluster=c set MaxJobs=3",
		}},
		{name: "words_of_an_account_of_hand", hand: "add account name=research cluster=c", file: "Accounts: [{Name: research, Description: ours, Users: [ann]}]", want: []string{
			"1:42 Accounts[0].Description: account research was not made by muster: Description there is research, and the file has ours: leave Description out, or change it by hand: sacctmgr modify account name=research set Description=ours",
		}},
		{name: "normal_as_slurm_has_it", file: "QOS: [{Name: normal, Priority: 5, MaxWall: 60}]\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			if row.before != "" {
				w.apply(t, row.before, -1)
			}
			for command := range strings.SplitSeq(row.hand, ";") {
				if args := strings.Fields(command); len(args) > 0 {
					for i := range args {
						args[i] = strings.ReplaceAll(args[i], "|", " ")
					}
					if err := w.run(args); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.others = row.others
			p := w.plan(t, row.file)
			var got []string
			for _, d := range p.Conflicts.All() {
				got = append(got, fmt.Sprintf("%d:%d %s: %s: %s", d.Line, d.Column, d.Path, d.Message, d.Hint))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if len(row.want) == 0 {
				w.apply(t, row.file, -1)
				if n, words, _ := w.apply(t, row.file, -1); n != 0 {
					t.Errorf("a second time it does %q", words)
				}
			}
		})
	}
}

// What leaves the file stays where another cluster, or somebody here, has built on it.
func TestDecide_keeps_QOS_that_others_have(t *testing.T) {
	const file = "Accounts: [{Name: research, Users: [ann]}]\nQOS: [{Name: low}, {Name: mid}, {Name: high}, {Name: none}]\n"
	w := newWorld(t)
	w.apply(t, file, -1)
	for _, args := range [][]string{
		{"add", "qos", "name=own", "Preempt=mid"}, {"add", "account", "name=mine", "cluster=c", "Parent=root", "QOS=normal,high"},
	} {
		if err := w.run(args); err != nil {
			t.Fatal(err)
		}
	}
	w.others = []slurm.Association{other("theirs", "low,normal")}
	_, words, kept := w.apply(t, "{}", -1)
	want := []string{
		"QOS high stays: account mine has it, which muster did not make", "QOS low stays: cluster b has it in its account theirs",
		"QOS mid stays: QOS own preempts it, which muster did not make",
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"remove user ann from account research", "remove account research", "remove QOS none"}, words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A head node that was replaced has no record, and knows by their mark what it made.
func TestDecide_without_a_record(t *testing.T) {
	w := newWorld(t)
	w.apply(t, full, -1)
	w.record = []byte("{}")
	if n, words, _ := w.apply(t, full, -1); n != 0 {
		t.Errorf("the same file does %q", words)
	}
	p := w.plan(t, strings.ReplaceAll(full, "MaxTRES: cpu=4", "MaxTRES: cpu=5"))
	if p.Conflicts.Len() != 0 || len(p.Changes) != 1 {
		t.Errorf("%v, %+v", p.Conflicts.Err(), p.Changes)
	}
}
