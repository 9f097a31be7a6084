package account

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// removals takes away what muster added and the file no longer has, unless jobs need it or people
// have built on it.
func (d *decision) removals() {
	gone := d.usersGone()
	d.defaults(gone)
	// Who loses all accounts loses the default one last.
	slices.SortStableFunc(gone, func(a, b membership) int {
		return cmp.Compare(d.isDefault(a), d.isDefault(b))
	})
	for _, m := range gone {
		d.add(Change{Verb: Delete, Kind: User, Name: m.user, Of: m.account,
			Args: []string{"delete", "user", "where", "name=" + m.user, "account=" + m.account, "cluster=" + d.Cluster},
			Text: "remove user " + m.user + " from account " + m.account})
	}
	d.accountsGone(gone)
	d.qualitiesGone()
}

func (d *decision) isDefault(m membership) int {
	if d.Have.Defaults[m.user] == m.account {
		return 1
	}
	return 0
}

func (d *decision) keep(format string, args ...any) {
	d.Kept = append(d.Kept, fmt.Sprintf(format, args...))
}

// usersGone are the users to remove from accounts.
func (d *decision) usersGone() []membership {
	var gone []membership
	for _, account := range slices.Sorted(maps.Keys(d.Before.Users)) {
		for _, user := range slices.Sorted(slices.Values(d.Before.Users[account])) {
			wants := slices.ContainsFunc(d.want.members, func(m membership) bool { return m.account == account && m.user == user })
			if wants || !d.have.members[membershipKey{account, user}] {
				continue
			}
			if ids := d.jobs(func(j slurm.Job) bool { return j.Account == account && j.User == user }); ids != "" {
				d.keep("user %s stays in account %s while his jobs are there: %s", user, account, ids)
				continue
			}
			gone = append(gone, membership{account: account, user: user})
		}
	}
	return gone
}

// jobs are the numbers of the jobs that wait or run of which something holds, empty for none.
func (d *decision) jobs(holds func(slurm.Job) bool) string {
	var ids []string
	for _, j := range d.Have.Jobs {
		if !j.Ended() && holds(j) && len(ids) < 10 {
			ids = append(ids, j.Label())
		}
	}
	return strings.Join(ids, ", ")
}

// defaults gives users who lose their default account, and whom the file names no more, another one
// first: slurmdbd takes nobody's default account while he has others.
func (d *decision) defaults(gone []membership) {
	for _, g := range gone {
		named := slices.ContainsFunc(d.want.members, func(m membership) bool { return m.user == g.user })
		if named || d.Have.Defaults[g.user] != g.account {
			continue
		}
		for _, account := range slices.Sorted(maps.Keys(d.have.accounts)) {
			m := membership{account: account, user: g.user}
			if d.have.members[membershipKey{account, g.user}] && !slices.Contains(gone, m) {
				d.byDefault(m, g.account)
				break
			}
		}
	}
}

// accountsGone removes accounts, the deepest first. One that still has users or accounts stays: with
// it they would go, too.
func (d *decision) accountsGone(users []membership) {
	left := map[string]bool{}
	for name := range d.have.accounts {
		left[name] = true
	}
	candidates := map[string]bool{}
	for name, made := range d.Before.Accounts {
		if made.Added && left[name] && !slices.ContainsFunc(d.want.accounts, func(w wish) bool { return w.name == name }) {
			candidates[name] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for _, name := range slices.Sorted(maps.Keys(candidates)) {
			if d.holds(name, users, left) != "" {
				continue
			}
			delete(candidates, name)
			delete(left, name)
			changed = true
			d.add(Change{Verb: Delete, Kind: Account, Name: name,
				Args: []string{"delete", "account", "where", "name=" + name, "cluster=" + d.Cluster}, Text: "remove account " + name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(candidates)) {
		d.keep("account %s stays: %s", name, d.holds(name, users, left))
	}
}

// holds says what an account still has, empty if it can go.
func (d *decision) holds(name string, gone []membership, left map[string]bool) string {
	var users, below []string
	for _, u := range d.have.of[name] {
		if !slices.ContainsFunc(gone, func(m membership) bool { return m.account == name && m.user == u }) {
			users = append(users, u)
		}
	}
	for _, other := range slices.Sorted(maps.Keys(left)) {
		if d.parentOf(other) == name {
			below = append(below, other)
		}
	}
	switch {
	case len(users) > 0:
		slices.Sort(users)
		return "it has users: " + strings.Join(slices.Compact(users), ", ")
	case len(below) > 0:
		return "it has accounts: " + strings.Join(below, ", ")
	}
	if ids := d.jobs(func(j slurm.Job) bool { return j.Account == name }); ids != "" {
		return "it has jobs: " + ids
	}
	return ""
}

// parentOf is what an account is part of when the changes so far are made.
func (d *decision) parentOf(name string) string {
	for _, w := range d.want.accounts {
		if w.name == name && w.values["Parent"] != (spec.Wish{}) {
			return w.values["Parent"].Value
		}
	}
	return d.have.accounts[name]["Parent"]
}

// qualitiesGone removes QoS that no job and no account has.
func (d *decision) qualitiesGone() {
	for _, name := range slices.Sorted(maps.Keys(d.Before.QOS)) {
		_, there := d.have.qualities[name]
		if !d.Before.QOS[name].Added || !there || slices.ContainsFunc(d.want.qualities, func(w wish) bool { return w.name == name }) {
			continue
		}
		if ids := d.jobs(func(j slurm.Job) bool { return j.QOS == name }); ids != "" {
			d.keep("QOS %s stays while jobs have it: %s", name, ids)
			continue
		}
		if holder := d.elsewhere(QOS, name); holder != "" {
			d.keep("QOS %s stays: %s", name, holder)
			continue
		}
		if holder := d.builtOn(name); holder != "" {
			d.keep("QOS %s stays: %s", name, holder)
			continue
		}
		if account := d.defaultFor(name); account != "" {
			d.keep("QOS %s stays: it is the default of account %s", name, account)
			continue
		}
		d.add(Change{Verb: Delete, Kind: QOS, Name: name, Args: []string{"delete", "qos", "where", "name=" + name}, Text: "remove QOS " + name})
	}
}

// defaultFor is an account, or one with a user, whose default a QoS still is, empty if there is none.
func (d *decision) defaultFor(qos string) string {
	for _, a := range d.Have.Associations {
		settled := slices.ContainsFunc(d.Changes, func(c Change) bool {
			_, other := c.Set["DefaultQOS"]
			return c.Kind == Account && c.Name == a.Account && (c.Verb == Delete || other && a.User == "")
		})
		if a.Values["DefaultQOS"] == qos && !settled {
			return a.Account
		}
	}
	return ""
}

// takesAway says whether the file lacks something that muster added, so that it matters which jobs there are.
func takesAway(w wanted, before Record) bool {
	for account, users := range before.Users {
		for _, u := range users {
			if !slices.ContainsFunc(w.members, func(m membership) bool { return m.account == account && m.user == u }) {
				return true
			}
		}
	}
	lacks := func(all map[string]Made, of []wish) bool {
		for name := range all {
			if !slices.ContainsFunc(of, func(w wish) bool { return w.name == name }) {
				return true
			}
		}
		return false
	}
	return lacks(before.QOS, w.qualities) || lacks(before.Accounts, w.accounts)
}
