package account

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Question is what a decision is made of.
type Question struct {
	// Cluster is Slurm's name of the cluster.
	Cluster  string
	Workload *spec.Workload
	// Owner is a user who has to be able to run jobs although no account of the file names him, empty for none.
	Owner  string
	Have   Have
	Before Record
}

// Plan is what is to be done.
type Plan struct {
	// Changes are in order.
	Changes []Change
	// Kept says in words what stays although the file no longer has it.
	Kept []string
	// Conflicts are what of the file would change what muster did not make, or what other clusters have, too.
	// While there is one, nothing is to be changed.
	Conflicts diag.List
	// Record is what muster has done so far.
	Record Record
}

// Decide says what is to be done.
func Decide(q Question) Plan {
	q.Before = q.Before.settled(q.Have).adopted(q.Cluster, q.Have)
	d := &decision{Question: q, want: want(q.Workload, q.Owner), have: index(q.Have)}
	d.qualities()
	d.accounts()
	d.users()
	d.restore()
	d.removals()
	d.Record = q.Before
	return d.Plan
}

type decision struct {
	Question
	Plan
	want wanted
	have indexed
}

// indexed is what there is, by name.
type indexed struct {
	qualities map[string]map[string]string
	accounts  map[string]map[string]string
	// members are the users of each account, for all partitions; of says who is there for any.
	members map[membershipKey]bool
	of      map[string][]string
	names   map[string]slurm.AccountName
}

type membershipKey struct{ account, user string }

func index(h Have) indexed {
	x := indexed{
		qualities: map[string]map[string]string{}, accounts: map[string]map[string]string{},
		members: map[membershipKey]bool{}, of: map[string][]string{}, names: map[string]slurm.AccountName{},
	}
	for _, q := range h.QOS {
		x.qualities[q.Name] = q.Values
	}
	for _, n := range h.Names {
		x.names[n.Name] = n
	}
	for _, a := range h.Associations {
		if a.User != "" {
			x.of[a.Account] = append(x.of[a.Account], a.User)
			x.members[membershipKey{a.Account, a.User}] = x.members[membershipKey{a.Account, a.User}] || a.Partition == ""
			continue
		}
		values := maps.Clone(a.Values)
		values["Parent"] = a.Parent
		values["Description"], values["Organization"] = x.names[a.Account].Description, x.names[a.Account].Organization
		x.accounts[a.Account] = values
	}
	return x
}

func (d *decision) add(c Change) { d.Changes = append(d.Changes, c) }

// qualities come first: accounts name them. Those that give way are known before any can name them.
func (d *decision) qualities() {
	for _, w := range d.want.qualities {
		if _, there := d.have.qualities[w.name]; there {
			continue
		}
		first := w
		first.values = maps.Clone(w.values)
		delete(first.values, "Preempt")
		set, args, text := d.given(QOS, first, nil)
		d.add(Change{Verb: Add, Kind: QOS, Name: w.name, Set: set, Place: w.place,
			Args: slices.Concat([]string{"add", "qos", "name=" + w.name}, d.marked(w), args), Text: said("add QOS "+w.name, text)})
	}
	for _, w := range d.want.qualities {
		have, there := d.have.qualities[w.name]
		if p, preempts := w.values["Preempt"]; preempts && !there {
			w.values = map[string]spec.Wish{"Preempt": p}
		}
		if _, preempts := w.values["Preempt"]; there || preempts {
			d.modify(QOS, w, have)
		}
	}
}

func (d *decision) accounts() {
	for _, w := range d.want.accounts {
		have, there := d.have.accounts[w.name]
		if there {
			d.modify(Account, w, have)
			continue
		}
		set, args, text := d.given(Account, w, nil)
		d.add(Change{Verb: Add, Kind: Account, Name: w.name, Set: set, Place: w.place,
			Args: slices.Concat([]string{"add", "account", "name=" + w.name, "cluster=" + d.Cluster}, d.marked(w), args), Text: said("add account "+w.name, text)})
		// Of an account that another cluster had, or this one once, sacctmgr leaves the words as they are.
		if n, known := d.have.names[w.name]; known {
			d.modify(Account, wish{name: w.name, values: words(w.values), place: w.place}, map[string]string{"Description": n.Description, "Organization": n.Organization})
		}
	}
}

// words are the values that an account has on all clusters.
func words(values map[string]spec.Wish) map[string]spec.Wish {
	all := maps.Clone(values)
	maps.DeleteFunc(all, func(key string, _ spec.Wish) bool { return !isWide(key) })
	return all
}

func isWide(key string) bool { return key == "Description" || key == "Organization" }

// given are the values in which what there is differs from a wish: in their one form, as sacctmgr
// is told them, and in words.
func (d *decision) given(kind Kind, w wish, have map[string]string) (set map[string]string, args, text []string) {
	set = map[string]string{}
	for _, key := range w.keys() {
		value, had := w.values[key].Value, form(key, have[key])
		to := form(key, value)
		if to == had {
			continue
		}
		set[key], args = to, append(args, setting(key, value, have[key]))
		one := key + "=" + value
		if have != nil {
			one += " instead of " + orNone(have[key])
		}
		text = append(text, one)
	}
	return set, args, text
}

// modify gives an account or a QoS what it lacks.
func (d *decision) modify(kind Kind, w wish, have map[string]string) {
	w = d.allowed(kind, w, have)
	set, args, text := d.given(kind, w, have)
	if len(args) == 0 {
		return
	}
	place := w.place
	if len(set) == 1 {
		for key := range set {
			place = w.values[key].Place
		}
	}
	d.change(Change{Verb: Modify, Kind: kind, Name: w.name, Set: set, Place: place, Text: said(string(kind)+" "+w.name, text)}, args)
}

// change adds a modification. What accounts are on all clusters, and where they are, sacctmgr changes
// each by itself.
func (d *decision) change(c Change, args []string) {
	if c.Kind == QOS {
		c.Args = slices.Concat([]string{"modify", "qos", "where", "name=" + c.Name, "set"}, args)
		d.add(c)
		return
	}
	groups := map[bool][]string{}
	for _, a := range args {
		key, _, _ := strings.Cut(a, "=")
		groups[isWide(key)] = append(groups[isWide(key)], a)
	}
	for _, wide := range []bool{true, false} {
		some := groups[wide]
		if len(some) == 0 {
			continue
		}
		one := c
		one.Args = []string{"modify", "account", "where", "name=" + c.Name}
		if !wide {
			one.Args = append(one.Args, "cluster="+d.Cluster)
		}
		one.Args = slices.Concat(one.Args, []string{"set"}, some)
		if len(groups) > 1 {
			one.Set = maps.Clone(c.Set)
			maps.DeleteFunc(one.Set, func(key, _ string) bool { return isWide(key) != wide })
			one.Text = said("account "+c.Name, some)
		}
		d.add(one)
	}
}

func (d *decision) users() {
	for _, m := range d.want.members {
		if d.have.members[membershipKey{m.account, m.user}] {
			continue
		}
		d.add(Change{Verb: Add, Kind: User, Name: m.user, Of: m.account, Place: m.place,
			Args: []string{"add", "user", "name=" + m.user, "account=" + m.account, "cluster=" + d.Cluster},
			Text: "add user " + m.user + " to account " + m.account})
	}
	told := map[string]bool{}
	for _, m := range d.want.members {
		now := d.Have.Defaults[m.user]
		if !told[m.user] && now != "" && now != m.account && slices.Contains(d.Before.Users[now], m.user) {
			d.byDefault(m, now) // which muster made his default, and the file has another one first
		}
		told[m.user] = true
	}
}

// byDefault has a user's jobs charged to another account if they name none.
func (d *decision) byDefault(m membership, before string) {
	d.add(Change{Verb: Modify, Kind: User, Name: m.user, Of: m.account, Place: m.place,
		Args: []string{"modify", "user", "where", "name=" + m.user, "cluster=" + d.Cluster, "set", "DefaultAccount=" + m.account},
		Text: "user " + m.user + ": the default account is " + m.account + " instead of " + before})
}

// restore gives Slurm's own values back where the file has left out one that was set from it, unless
// somebody has changed it since.
func (d *decision) restore() {
	for _, of := range []struct {
		kind   Kind
		before map[string]Made
		have   map[string]map[string]string
		want   []wish
	}{{QOS, d.Before.QOS, d.have.qualities, d.want.qualities}, {Account, d.Before.Accounts, d.have.accounts, d.want.accounts}} {
		for _, w := range slices.Concat(of.want, lentTo(of.before, of.want)) {
			have, there := of.have[w.name]
			made := of.before[w.name]
			if !there {
				continue
			}
			set, place := map[string]string{}, w.place
			var args, text []string
			for _, key := range slices.Sorted(maps.Keys(made.Set)) {
				arg := unset(of.kind, key, have[key])
				if _, still := w.values[key]; still || arg == "" || form(key, have[key]) != made.Set[key] || made.Set[key] == unsetForm(of.kind, key) {
					continue
				}
				set[key], args, text = "", append(args, arg), append(text, key+" is no longer "+have[key])
			}
			if len(args) > 0 && d.ownAlone(of.kind, w, set, args) {
				d.change(Change{Verb: Modify, Kind: of.kind, Name: w.name, Set: set, Place: place, Text: said(string(of.kind)+" "+w.name, text)}, args)
			}
		}
	}
}

// lentTo is what people made and the file gave values to, and names no longer.
func lentTo(before map[string]Made, want []wish) []wish {
	var all []wish
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !before[name].Added && !slices.ContainsFunc(want, func(w wish) bool { return w.name == name }) {
			all = append(all, wish{name: name})
		}
	}
	return all
}

func said(what string, values []string) string {
	if len(values) == 0 {
		return what
	}
	return what + ": " + strings.Join(values, ", ")
}

// At is the place of a change in the file, empty where it has none.
func (c Change) At() string {
	if c.Place == (diag.Place{}) || c.Place.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: %s: ", c.Place.File, c.Place.Line, c.Place.Column, c.Place.Path)
}
