package account

import (
	"fmt"
	"maps"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Foreseen are the changes from one muster.yaml, which may be nil, to another, for a cluster whose
// slurmdbd cannot be asked from here: as if it had all of the first, and nothing else. What jobs need and what people made stays
// on top of it.
func Foreseen(cluster string, from, to *spec.Workload) []Change {
	if from == nil {
		from = &spec.Workload{}
	}
	have, before := madeOf(want(from, ""))
	return Decide(Question{Cluster: cluster, Workload: to, Have: have, Before: before}).Changes
}

// madeOf is what there is once all that is wanted was made, and the record of it.
func madeOf(w wanted) (Have, Record) {
	have := Have{
		QOS: []slurm.Quality{{Name: spec.NormalQOS}}, Associations: []slurm.Association{{Account: root, Values: map[string]string{}}},
		Names: []slurm.AccountName{{Name: root}}, Defaults: map[string]string{},
	}
	before := Record{QOS: map[string]Made{}, Accounts: map[string]Made{}, Users: map[string][]string{}}
	for _, q := range w.qualities {
		before.QOS[q.name] = Made{Added: q.name != spec.NormalQOS, Set: forms(q)}
		have.QOS = append(have.QOS, slurm.Quality{Name: q.name, Values: texts(q)})
	}
	for _, a := range w.accounts {
		values := texts(a)
		before.Accounts[a.name] = Made{Added: a.name != root, Set: forms(a)}
		have.Names = append(have.Names, slurm.AccountName{Name: a.name, Description: values["Description"], Organization: values["Organization"]})
		have.Associations = append(have.Associations, slurm.Association{Account: a.name, Parent: values["Parent"], Values: values})
	}
	for _, m := range w.members {
		before.Users[m.account] = append(before.Users[m.account], m.user)
		have.Associations = append(have.Associations, slurm.Association{Account: m.account, User: m.user, Values: map[string]string{}})
		if have.Defaults[m.user] == "" {
			have.Defaults[m.user] = m.account
		}
	}
	return have, before
}

func texts(w wish) map[string]string {
	all := map[string]string{}
	for key, value := range w.values {
		all[key] = value.Value
	}
	return all
}

func forms(w wish) map[string]string {
	all := texts(w)
	for key, text := range maps.Clone(all) {
		all[key] = form(key, text)
	}
	return all
}

// Losses are what changes take away, in words.
func Losses(changes []Change) []string {
	var lines []string
	for _, c := range changes {
		if c.Verb == Delete {
			lines = append(lines, c.Text)
		}
	}
	return lines
}

// Lines are changes in words, for people: what is taken away, and as much of the rest as they read.
func Lines(changes []Change) []string {
	var lines []string
	more := 0
	for i, c := range changes {
		switch {
		case c.Verb == Delete || len(changes) <= manyChanges || i < manyChanges/2:
			lines = append(lines, c.Text)
		default:
			more++
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more, which remove no account, user or QOS", more))
	}
	return lines
}
