// Package account brings what muster.yaml says of Slurm's accounts, users and QoS into slurmdbd. It
// promises to take away and to undo only what it did itself, as its record says: what people made by
// hand stays, and what they changed by hand stays unless the file says otherwise. After its changes
// were made there is nothing left to change.
package account

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Have is what there is.
type Have struct {
	Associations []slurm.Association
	QOS          []slurm.Quality
	// Others are the associations of other clusters of the same slurmdbd, with no more than the QoS that they may have.
	Others []slurm.Association
	// Names are the accounts of the database, also those that this cluster has not.
	Names []slurm.AccountName
	// Defaults are users' default accounts on this cluster.
	Defaults map[string]string
	// Jobs are those that wait or run. They are looked for only where something is to go.
	Jobs []slurm.Job
}

// Verb is what a change does.
type Verb string

// Verbs of changes.
const (
	Add    Verb = "add"
	Modify Verb = "modify"
	Delete Verb = "delete"
)

// Kind is what a change is about.
type Kind string

// Kinds of what is in slurmdbd.
const (
	QOS     Kind = "QOS"
	Account Kind = "account"
	User    Kind = "user"
)

// Change is one command of sacctmgr's.
type Change struct {
	Verb Verb
	Kind Kind
	Name string
	// Of is a user's account.
	Of string
	// Set are the values that it gives, in their one form; an empty value is the loss of what was set.
	Set map[string]string
	// Args are sacctmgr's.
	Args []string
	// Text says it in words.
	Text string
	// Place is where the file asks for it; it has none for what the file no longer has.
	Place diag.Place
}

// wish is an account or a QoS as the file wants it.
type wish struct {
	name   string
	values map[string]spec.Wish
	place  diag.Place
	// implied are the keys that the file does not say.
	implied []string
}

func (w wish) keys() []string { return slices.Sorted(maps.Keys(w.values)) }

// membership is a user in an account.
type membership struct {
	account, user string
	place         diag.Place
}

// wanted is what the file wants, parents before what is part of them.
type wanted struct {
	qualities, accounts []wish
	members             []membership
}

const root = "root"

func want(w *spec.Workload, owner string) wanted {
	var out wanted
	for _, q := range w.QOS {
		out.qualities = append(out.qualities, wish{name: q.Name, values: byKey(q.Wishes), place: q.Place})
	}
	for _, a := range inOrder(w.Accounts) {
		one := wish{name: a.Name, values: byKey(a.Wishes), place: a.Place}
		if a.Name != root {
			parent := a.Parent
			if parent == "" {
				parent, one.implied = root, append(one.implied, "Parent")
			}
			one.values["Parent"] = spec.Wish{Key: "Parent", Value: parent, Place: a.Place}
			if _, says := one.values["QOS"]; !says && parent == root && len(w.QOS) > 0 {
				one.values["QOS"], one.implied = spec.Wish{Key: "QOS", Value: everyQOS(w), Place: a.Place}, append(one.implied, "QOS")
			}
		}
		out.accounts = append(out.accounts, one)
	}
	// In the file's order: the first account that names somebody is the default.
	for _, a := range w.Accounts {
		for _, u := range a.Users {
			out.members = append(out.members, membership{a.Name, u, a.Place})
		}
	}
	if owner != "" && slices.Contains(w.Enforced(), "associations") &&
		!slices.ContainsFunc(out.members, func(m membership) bool { return m.user == owner }) {
		out.members = append(out.members, membership{account: root, user: owner})
	}
	return out
}

func byKey(wishes []spec.Wish) map[string]spec.Wish {
	all := map[string]spec.Wish{}
	for _, w := range wishes {
		if w.Value != "" {
			all[w.Key] = w
		}
	}
	return all
}

// everyQOS is what accounts may use if the file does not say it.
func everyQOS(w *spec.Workload) string {
	names := []string{"normal"}
	for _, q := range w.QOS {
		names = append(names, q.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// inOrder has parents before their children; the file has no circles.
func inOrder(all []spec.Account) []spec.Account {
	var out []spec.Account
	done := map[string]bool{root: true, "": true}
	for range all {
		for _, a := range all {
			known := !slices.ContainsFunc(all, func(p spec.Account) bool { return p.Name == a.Parent })
			if !slices.ContainsFunc(out, func(o spec.Account) bool { return o.Name == a.Name }) && (done[a.Parent] || known) {
				out, done[a.Name] = append(out, a), true
			}
		}
	}
	return out
}
