package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// placeOf is the place of a name that --on gives, nil for an empty one: any.
func placeOf(name string) (place.Place, error) {
	if name == "" {
		return nil, nil
	}
	for _, p := range places {
		if p.Name() == name {
			return p, p.Here()
		}
	}
	return nil, fault.Usage(fmt.Errorf("there is no place %q: a cluster is on %s", name, strings.Join(placeNames(), " or on ")))
}

// placeNames are what --on takes.
func placeNames() []string {
	var names []string
	for _, p := range places {
		names = append(names, p.Name())
	}
	return names
}

// anyPlace is placeNames for people.
func anyPlace() string { return strings.Join(placeNames(), " or ") }

// those are the one place, or all where it is nil.
func those(only place.Place) []place.Place {
	if only == nil {
		return places
	}
	return []place.Place{only}
}

// where is a cluster of a name, with its place.
type where struct {
	place.Cluster
	home, name string
	place      place.Place
}

// errNone says that this machine knows of no cluster.
var errNone = fault.Coded(fault.CodeNone, "there is no cluster; %s", makesOne)

// find finds the cluster that the command is about. on, if not empty, is the name of its
// place.
func (a *app) find(on string) (where, error) {
	var w where
	only, err := placeOf(on)
	if err == nil {
		w.home, err = homeDir()
	}
	if err == nil {
		w.name, err = a.which(w.home, only)
	}
	if err == nil {
		w.place, err = settle(w.home, w.name, only)
	}
	if err != nil {
		return w, err
	}
	if only == nil && w.place.Here() != nil {
		return w, noCluster(w.home, w.name)
	}
	w.Cluster, err = w.place.Open(w.home, w.name, talk{a})
	return w, err
}

// settle finds the place of a cluster: the one that is asked for, the one that knows it,
// or else one that may have it without our knowing, unless the name is probably a misspelt
// one.
func settle(home, name string, only place.Place) (place.Place, error) {
	if only != nil {
		return only, nil
	}
	var with []place.Place
	var names, on []string
	for _, p := range places {
		known, err := p.Known(home)
		if err != nil {
			return nil, err
		}
		for _, k := range known {
			names = append(names, k.Name)
		}
		if slices.Contains(namesOf(known), name) {
			with, on = append(with, p), append(on, "--on "+p.Name())
		}
	}
	switch {
	case len(with) > 1:
		return nil, fault.Usage(fmt.Errorf("there are %s clusters %s; say which with %s", numeral(len(with)), name, strings.Join(on, " or ")))
	case len(with) == 1:
		return with[0], nil
	}
	if i := slices.IndexFunc(places, place.Place.Asks); i >= 0 && !near(name, names) {
		return places[i], nil
	}
	return places[0], nil
}

// numeral is a small number as a word.
func numeral(n int) string {
	if n == 2 {
		return "two"
	}
	return fmt.Sprint(n)
}

// near says that a name is probably a misspelt one.
func near(name string, names []string) bool { return diag.Nearest(name, names) != "" }

// taken refuses a name for a new cluster of one place that another place's has.
func (a *app) taken(home, name string, of place.Place, by place.Other) error {
	p, err := having(home, name)
	if err != nil || p == nil || p == of {
		return err
	}
	c, err := p.Open(home, name, talk{a})
	if err != nil {
		return err
	}
	return c.Taken(by)
}

// having is the first place that has a cluster of a name, as far as this machine knows; nil
// if none has.
func having(home, name string) (place.Place, error) {
	for _, p := range places {
		known, err := p.Known(home)
		if err != nil {
			return nil, err
		}
		if slices.Contains(namesOf(known), name) {
			return p, nil
		}
	}
	return nil, nil
}
