package account

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// allowed is a wish without what would change what is not this cluster's muster's. What the file says
// of that is a conflict.
func (d *decision) allowed(kind Kind, w wish, have map[string]string) wish {
	values := maps.Clone(w.values)
	for _, key := range w.keys() {
		value := w.values[key]
		if form(key, value.Value) == form(key, have[key]) {
			continue
		}
		why := d.theirs(kind, w.name, key, have[key])
		if why == "" {
			continue
		}
		delete(values, key)
		if slices.Contains(w.implied, key) {
			continue
		}
		hint := fmt.Sprintf("write what it has, or change it by hand: sacctmgr %s", byHand(kind, w.name, d.Cluster, key, value.Value))
		if key != "Parent" {
			hint = fmt.Sprintf("leave %s out, or change it by hand: sacctmgr %s", key, byHand(kind, w.name, d.Cluster, key, value.Value))
		}
		d.Conflicts.Errorf("workload/conflict", value.Place.Path, "%s %s %s: %s there is %s, and the file has %s", kind, w.name, why, key, orNone(have[key]), value.Value).
			At(value.Place).WithHint("%s", hint)
	}
	w.values = values
	return w
}

// byHand is what people tell sacctmgr to do what muster does not.
func byHand(kind Kind, name, cluster, key, value string) string {
	if kind == QOS {
		return "modify qos " + name + " set " + key + "=" + value
	}
	if !isWide(key) {
		name += " cluster=" + cluster
	}
	return "modify account name=" + name + " set " + key + "=" + value
}

// theirs says why a value is not muster's to change, empty if it is.
func (d *decision) theirs(kind Kind, name, key, text string) string {
	if kind == QOS || isWide(key) {
		if holder := d.elsewhere(kind, name); holder != "" {
			return "is not this cluster's alone, " + holder
		}
	}
	made := d.Before.QOS[name]
	if kind == Account {
		made = d.Before.Accounts[name]
	}
	value := form(key, text)
	if _, here := d.have.accounts[name]; kind == Account && !here || made.Added || value == made.Set[key] || isSlurms(kind, name, key, value) {
		return ""
	}
	if by := d.maker(kind, name); by != "" {
		return "was made by muster for " + by
	}
	return "was not made by muster"
}

// isSlurms tells whether a value is one that Slurm gives by itself: nobody set it.
func isSlurms(kind Kind, name, key, value string) bool {
	return value == "" || value == unsetForm(kind, key) || kind == Account && name == root && key == "QOS" && value == spec.NormalQOS
}

// maker is the cluster for which muster made something, by its mark; empty if it has none.
func (d *decision) maker(kind Kind, name string) string {
	text := d.have.qualities[name]["Description"]
	if kind == Account {
		text = d.have.names[name].Description
	}
	before, after, _ := strings.Cut(mark("|"), "|")
	if inner, ok := strings.CutPrefix(text, before); ok {
		if cluster, ok := strings.CutSuffix(inner, after); ok {
			return "cluster " + cluster
		}
	}
	return ""
}

// elsewhere says which other cluster of the same slurmdbd has a QoS or an account, empty if none has.
func (d *decision) elsewhere(kind Kind, name string) string {
	for _, a := range d.Have.Others {
		switch {
		case kind == Account && a.Account == name:
			return "cluster " + a.Cluster + " has it, too"
		case kind == QOS && names(a, name):
			return "cluster " + a.Cluster + " has it in its account " + a.Account
		}
	}
	return ""
}

// names tells whether an association may have a QoS by itself, and not from what it is part of.
func names(a slurm.Association, qos string) bool {
	return a.Values["DefaultQOS"] == qos || slices.ContainsFunc(strings.Split(a.Values["QOS"], ","), func(item string) bool {
		return strings.TrimLeft(item, "+-") == qos
	})
}

// builtOn says what people made by hand that would lose a QoS with it, empty if there is nothing.
func (d *decision) builtOn(qos string) string {
	for _, other := range slices.Sorted(maps.Keys(d.have.qualities)) {
		gives := strings.Split(d.have.qualities[other]["Preempt"], ",")
		wants := slices.ContainsFunc(d.want.qualities, func(w wish) bool { return w.name == other })
		lent := d.Before.QOS[other].Set["Preempt"] == form("Preempt", d.have.qualities[other]["Preempt"])
		if other != qos && slices.Contains(gives, qos) && !wants && !lent && !d.Before.QOS[other].Added {
			return "QOS " + other + " preempts it, which muster did not make"
		}
	}
	for _, a := range d.Have.Associations {
		wants := slices.ContainsFunc(d.want.accounts, func(w wish) bool { return w.name == a.Account })
		lent := d.Before.Accounts[a.Account].Set["QOS"] == form("QOS", a.Values["QOS"])
		if a.User == "" && names(a, qos) && !wants && !lent && !d.Before.Accounts[a.Account].Added {
			return "account " + a.Account + " has it, which muster did not make"
		}
		if a.User != "" && names(a, qos) {
			return "user " + a.User + " has it in account " + a.Account
		}
	}
	return ""
}

// ownAlone tells whether values may be unset: of a QoS that other clusters have they may not.
func (d *decision) ownAlone(kind Kind, w wish, set map[string]string, args []string) bool {
	holder := ""
	if kind == QOS {
		holder = d.elsewhere(kind, w.name)
	}
	if holder == "" {
		return true
	}
	keys := strings.Join(slices.Sorted(maps.Keys(set)), ", ")
	d.Conflicts.Errorf("workload/conflict", w.place.Path, "QOS %s is not this cluster's alone, %s: the file no longer has %s", w.name, holder, keys).
		At(w.place).WithHint("write it again, or take it away for all by hand: sacctmgr modify qos %s set %s", w.name, strings.Join(args, " "))
	return false
}

// marked is the option that gives something new this cluster's mark, unless the file describes it.
func (d *decision) marked(w wish) []string {
	if _, says := w.values["Description"]; says {
		return nil
	}
	return []string{"Description=" + mark(d.Cluster)}
}
