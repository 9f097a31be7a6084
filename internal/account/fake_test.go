package account_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/slurm"
)

// database is a slurmdbd as far as sacctmgr's commands of this package go. It refuses what the real one refuses.
type database struct {
	qualities map[string]map[string]string
	accounts  map[string]map[string]string
	members   map[string][]string
	defaults  map[string]string
	// others are the associations of other clusters.
	others []slurm.Association
	// ran is what sacctmgr was told.
	ran [][]string
}

func newDatabase() *database {
	return &database{
		qualities: map[string]map[string]string{"normal": {"Priority": "0", "PreemptMode": "cluster", "GraceTime": "00:00:00", "UsageFactor": "1.000000"}},
		accounts:  map[string]map[string]string{"root": {"QOS": "normal", "FairShare": "1"}},
		members:   map[string][]string{"root": {"root"}}, defaults: map[string]string{"root": "root"},
	}
}

func (d *database) have() account.Have {
	var h account.Have
	for _, name := range slices.Sorted(maps.Keys(d.qualities)) {
		h.QOS = append(h.QOS, slurm.Quality{Name: name, Values: maps.Clone(d.qualities[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(d.accounts)) {
		v := maps.Clone(d.accounts[name])
		h.Names = append(h.Names, slurm.AccountName{Name: name, Description: v["Description"], Organization: v["Organization"]})
		h.Associations = append(h.Associations, slurm.Association{Account: name, Parent: v["Parent"], Values: v})
		for _, u := range d.members[name] {
			h.Associations = append(h.Associations, slurm.Association{Account: name, User: u, Values: map[string]string{}})
		}
	}
	h.Defaults, h.Others = maps.Clone(d.defaults), d.others
	return h
}

// run is what sacctmgr does with its arguments.
func (d *database) run(args []string) error {
	d.ran = append(d.ran, args)
	verb, kind := args[0], args[1]
	where, set := map[string]string{}, map[string]string{}
	of := where
	for _, a := range args[2:] {
		switch key, value, found := strings.Cut(a, "="); {
		case a == "where":
		case a == "set":
			of = set
		case !found:
			return fmt.Errorf("%q is no option", a)
		case verb == "add" && !slices.Contains([]string{"name", "account", "cluster"}, key):
			set[key] = value
		default:
			of[key] = value
		}
	}
	if kind == "user" {
		return d.user(verb, where, set)
	}
	all := map[string]map[string]map[string]string{"qos": d.qualities, "account": d.accounts}[kind]
	name := where["name"]
	values, there := all[name]
	switch {
	case verb == "add" && there, verb != "add" && !there:
		return fmt.Errorf("%s %s: there %v", verb, name, there)
	case verb == "delete" && kind == "account" && len(d.members[name]) > 0:
		return fmt.Errorf("users of %s would go, too", name)
	case verb == "delete" && kind == "account" && d.above(name):
		return fmt.Errorf("accounts below %s would go, too", name)
	case verb == "delete":
		delete(all, name)
		d.forget(kind, name)
		return nil
	case verb == "add":
		values = map[string]string{"FairShare": "1", "Organization": name}
		if kind == "qos" {
			values = maps.Clone(newDatabase().qualities["normal"])
		}
		values["Description"] = name
		all[name] = values
	}
	return d.give(values, set)
}

// above tells whether an account has others below it.
func (d *database) above(name string) bool {
	for _, values := range d.accounts {
		if values["Parent"] == name {
			return true
		}
	}
	return false
}

// forget takes a QoS that is gone out of what names it, as slurmdbd does.
func (d *database) forget(kind, name string) {
	if kind != "qos" {
		return
	}
	for _, all := range []map[string]map[string]string{d.qualities, d.accounts} {
		for _, values := range all {
			for _, key := range []string{"QOS", "Preempt"} {
				items := slices.DeleteFunc(strings.Split(values[key], ","), func(item string) bool { return item == name || item == "" })
				if values[key] = strings.Join(items, ","); len(items) == 0 {
					delete(values, key)
				}
			}
		}
	}
}

func (d *database) give(values, set map[string]string) error {
	for key, value := range set {
		for _, name := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' }) {
			if _, known := d.qualities[name]; !known && (key == "QOS" || key == "Preempt") {
				return fmt.Errorf("no QOS %s", name)
			}
		}
		if _, known := d.accounts[value]; key == "Parent" && !known {
			return fmt.Errorf("no account %s", value)
		}
		if strings.Contains(key, "TRES") {
			value = merged(values[key], value)
		}
		if key == "GraceTime" && value == "0" {
			value = "00:00:00"
		}
		if values[key] = value; value == "-1" || value == "" {
			delete(values, key)
		}
	}
	return nil
}

// merged is how sacctmgr changes amounts: what is not named stays.
func merged(had, set string) string {
	all := map[string]string{}
	for item := range strings.SplitSeq(had+","+set, ",") {
		if name, amount, ok := strings.Cut(item, "="); ok {
			if all[name] = amount; amount == "-1" {
				delete(all, name)
			}
		}
	}
	var items []string
	for name, amount := range all {
		items = append(items, name+"="+amount)
	}
	slices.Sort(items)
	return strings.Join(items, ",")
}

func (d *database) user(verb string, where, set map[string]string) error {
	user, in := where["name"], where["account"]
	has := slices.Contains(d.members[in], user)
	switch {
	case verb == "modify":
		d.defaults[user] = set["DefaultAccount"]
		if !slices.Contains(d.members[set["DefaultAccount"]], user) {
			return fmt.Errorf("%s is not in %s", user, set["DefaultAccount"])
		}
	case verb == "add" && (has || d.accounts[in] == nil), verb == "delete" && !has:
		return fmt.Errorf("%s %s in %s", verb, user, in)
	case verb == "add":
		d.members[in] = append(d.members[in], user)
		if d.defaults[user] == "" {
			d.defaults[user] = in
		}
	case verb == "delete":
		d.members[in] = slices.DeleteFunc(d.members[in], func(u string) bool { return u == user })
		if d.defaults[user] == in {
			delete(d.defaults, user)
			for _, m := range d.members {
				if slices.Contains(m, user) {
					return fmt.Errorf("%s loses the default account %s", user, in)
				}
			}
		}
	}
	return nil
}
