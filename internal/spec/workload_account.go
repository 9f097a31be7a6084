package spec

import (
	"slices"
	"strings"
	"unicode"

	"github.com/muster-hpc/muster/internal/diag"
)

// Account is an account of Slurm's with the users who may charge it.
type Account struct {
	Name   string   `key:"Name"`
	Parent string   `key:"Parent"`
	Users  []string `key:"Users"`
	// Wishes are what the file says of the account besides, by Slurm's names.
	Wishes []Wish
	Place  diag.Place
}

// QOS is a quality of service of Slurm's.
type QOS struct {
	Name string `key:"Name"`
	// Preempt are the QoS whose jobs give way to jobs of this one.
	Preempt []string `key:"Preempt"`
	// Wishes are what the file says of it besides, Preempt included.
	Wishes []Wish
	Place  diag.Place
}

// Wish is a value that an account or a QOS is to have, in Slurm's own words and syntax. A list is
// written with commas.
type Wish struct {
	Key, Value string
	Place      diag.Place
}

func (a *Account) build(v View) {
	v.fill(a)
	a.Wishes, a.Place = wishes(v, "Name", "Parent", "Users"), placeOf(v)
}

func (q *QOS) build(v View) {
	v.fill(q)
	q.Wishes, q.Place = wishes(v, "Name"), placeOf(v)
}

func placeOf(v View) diag.Place {
	place := v.Place()
	place.Path = v.Path()
	return place
}

// wishes are the keys that an entry has, without some.
func wishes(v View, without ...string) []Wish {
	var all []Wish
	for _, name := range v.field.names {
		key := v.Key(name)
		if !key.Present() || slices.Contains(without, name) {
			continue
		}
		value := key.Text()
		if key.field.Type == "strings" {
			value = strings.Join(key.Texts(), ",")
		}
		all = append(all, Wish{Key: name, Value: value, Place: placeOf(key)})
	}
	return all
}

// Accounted tells whether the file says anything of accounts and QoS. Where it does not, Slurm is
// left as it is.
func (w *Workload) Accounted() bool { return len(w.Accounts)+len(w.QOS) > 0 || w.Enforce != nil }

// Enforced are what jobs are held to, as AccountingStorageEnforce has it; none is to nothing.
func (w *Workload) Enforced() []string {
	if w.Enforce != nil || len(w.Accounts) == 0 {
		return w.Enforce
	}
	return []string{"associations", "limits", "qos", "safe"}
}

// Preempts tells whether jobs of a QoS give way to those of another.
func (w *Workload) Preempts() bool {
	return slices.ContainsFunc(w.QOS, func(q QOS) bool { return len(q.Preempt) > 0 })
}

// NormalQOS is there in each database of Slurm's, and rootAccount, too.
const (
	NormalQOS   = "normal"
	rootAccount = "root"
)

// maxAccounts is far above what a cluster has.
const maxAccounts = 10_000

// checkAccounts checks accounts and QoS against each other, and against the cluster, which may be nil.
func checkAccounts(root View, w *Workload, c *Cluster) {
	accounts, qualities := root.Key("Accounts"), root.Key("QOS")
	for _, list := range []View{accounts, qualities} {
		if n := len(list.Items()); n > maxAccounts {
			list.Errorf("workload/size", "%s has %d entries; there can be %d", list.Name(), n, maxAccounts)
			return
		}
	}
	t := tresNames(c)
	var names, others unique
	for _, a := range accounts.Items() {
		if name := a.Key("Name"); name.Given() && name.Text() == rootAccount && a.Key("Parent").Present() {
			a.Key("Parent").Errorf("workload/account", "root is the account that all others are part of").WithHint("remove Parent")
		}
		names.check(a.Key("Name"), "workload/duplicate")
		checkLimits(a, t)
		checkShares(a.Key("FairShare"))
		checkWords(a.Key("Description"))
		checkWords(a.Key("Organization"))
		var users unique
		for _, u := range a.Key("Users").Items() {
			users.check(u, "workload/duplicate")
		}
	}
	checkParents(accounts.Items())
	for _, q := range qualities.Items() {
		others.check(q.Key("Name"), "workload/duplicate")
		checkLimits(q, t)
		checkWords(q.Key("Description"))
	}
	checkQualities(root)
	if w.Accounted() {
		checkAccounted(root, w, c)
	}
}

// checkQualities holds that the QoS are there that others name.
func checkQualities(root View) {
	names := []string{NormalQOS}
	for _, q := range root.Key("QOS").Items() {
		names = append(names, q.Key("Name").Text())
	}
	known := func(v View) {
		if v.Given() && !slices.Contains(names, v.Text()) {
			v.Errorf("workload/qos", "there is no QOS %s", quote(v.Text())).WithHint("%s", hintOf(v.Text(), names, "QOS has"))
		}
	}
	for _, q := range root.Key("QOS").Items() {
		for _, p := range q.Key("Preempt").Items() {
			known(p)
			if p.Given() && p.Text() == q.Key("Name").Text() {
				p.Errorf("workload/qos", "jobs of %s would give way to their own kind", quote(p.Text())).WithHint("name another QOS")
			}
		}
	}
	checkYielding(root.Key("QOS").Items())
	for _, a := range root.Key("Accounts").Items() {
		allowed := a.Key("QOS")
		for _, q := range allowed.Items() {
			known(q)
		}
		def := a.Key("DefaultQOS")
		known(def)
		if def.Given() && allowed.Given() && !slices.Contains(allowed.Texts(), def.Text()) {
			def.Errorf("workload/qos", "DefaultQOS is %s, which QOS of the account does not have", quote(def.Text())).WithHint("add it to QOS")
		}
	}
}

// checkWords holds what sacctmgr keeps as it is: it shows a text in one line, and takes quotes around it away.
func checkWords(v View) {
	switch text := v.Text(); {
	case !v.Given():
	case strings.ContainsFunc(text, unicode.IsControl):
		v.Errorf("workload/text", "%s has a character that cannot be shown, such as the end of a line", v.Name()).WithHint("write it in one line")
	case strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'"):
		v.Errorf("workload/text", "%s begins with a quote, which Slurm takes away", v.Name()).WithHint("begin with another character")
	}
}

// checkYielding reports QoS that would end each other's jobs for ever, which slurmdbd refuses as well
// (ESLURM_QOS_PREEMPTION_LOOP): each circle once, at its name that comes first.
func checkYielding(items []View) {
	preempts := map[string][]string{}
	for _, q := range items {
		preempts[q.Key("Name").Text()] = q.Key("Preempt").Texts()
	}
	for _, q := range items {
		name := q.Key("Name").Text()
		for _, p := range q.Key("Preempt").Items() {
			way := wayBack(p.Text(), name, preempts)
			switch {
			case len(way) == 0 || p.Text() == name:
			case len(way) == 1:
				p.Errorf("workload/qos", "jobs of %s and %s would give way to each other", quote(name), quote(p.Text())).WithHint("remove one of the two")
			default:
				p.Errorf("workload/qos", "jobs would give way in a circle: %s, %s", quote(name), strings.Join(way, ", ")).WithHint("remove one of them from the Preempt of the one before it")
			}
		}
	}
}

// wayBack are the QoS from one to another by what they preempt, the first included and the last not, by
// names that all come after the last; none if there is no such way.
func wayBack(from, to string, preempts map[string][]string) []string {
	before := map[string]string{}
	for next := []string{from}; len(next) > 0 && from > to; next = next[1:] {
		for _, p := range preempts[next[0]] {
			if p == to {
				way := []string{quote(next[0])}
				for at := next[0]; at != from; at = before[at] {
					way = append(way, quote(before[at]))
				}
				slices.Reverse(way)
				return way
			}
			if _, seen := before[p]; !seen && p > to && p != from {
				before[p], next = next[0], append(next, p)
			}
		}
	}
	return nil
}

// checkParents holds that accounts are a tree.
func checkParents(items []View) {
	parents := map[string]string{}
	names := []string{rootAccount}
	for _, a := range items {
		name := a.Key("Name").Text()
		parents[name], names = a.Key("Parent").Text(), append(names, name)
	}
	for _, a := range items {
		parent := a.Key("Parent")
		switch {
		case !parent.Given():
		case !slices.Contains(names, parent.Text()):
			parent.Errorf("workload/account", "there is no account %s", quote(parent.Text())).WithHint("%s", hintOf(parent.Text(), names, "Accounts has"))
		case inCircle(a.Key("Name").Text(), parents):
			parent.Errorf("workload/account", "the account %s is part of itself", quote(a.Key("Name").Text())).
				WithHint("remove the Parent of one of them: it is root's then")
		}
	}
}

// inCircle tells whether an account is above itself.
func inCircle(name string, parents map[string]string) bool {
	at := parents[name]
	for range parents {
		if at == name {
			return true
		}
		at = parents[at]
	}
	return false
}

func hintOf(got string, names []string, has string) string {
	if near := diag.Nearest(got, names); near != "" {
		return "did you mean " + near + "?"
	}
	return has + " " + enumerate(names)
}
