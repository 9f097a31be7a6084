package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/spec"
)

// clusterVariable names the cluster that the commands of a shell are about.
const clusterVariable = "MUSTER_CLUSTER"

// choice is what decides which cluster a command is about.
type choice struct {
	// flag is what --cluster says, env what MUSTER_CLUSTER says.
	flag, env string
	// here is the directory that the command runs in, userHome its user's.
	here, userHome string
	known          []madeOf
}

// madeOf is a cluster with the file that it was made of and the directory of that
// without links, both empty where they are not known.
type madeOf struct{ name, file, dir string }

// cluster is the name of the cluster that is meant: the one that is named, the one
// whose file is nearest above here, or the only one.
func (c choice) cluster() (string, error) {
	switch {
	case c.flag != "":
		return c.flag, spec.CheckName(c.flag)
	case c.env != "":
		if err := spec.CheckName(c.env); err != nil {
			return c.env, fmt.Errorf("%s: %w", clusterVariable, err)
		}
		return c.env, nil
	case len(c.known) == 0:
		return "", errNone
	case len(c.known) == 1:
		return c.known[0].name, nil
	}
	near := c.nearest()
	switch len(near) {
	case 0:
		return "", several(fmt.Sprintf("there are %d clusters: %s", len(c.known), listed(c.known)))
	case 1:
		return near[0].name, nil
	}
	return "", several(fmt.Sprintf("%d clusters were made of files in %s: %s", len(near), near[0].dir, listed(near)))
}

func several(which string) error {
	return fault.Usage(fault.Coded(fault.CodeSeveral, "%s; say which with --cluster NAME, or %s", which, clusterVariable))
}

// nearest are the clusters whose files are in here, or else in the nearest directory
// above it. A file in a home directory is not that of everything below.
func (c choice) nearest() []madeOf {
	var near []madeOf
	for _, k := range c.known {
		switch {
		case k.dir == "" || !c.covers(k.dir):
		case len(near) == 0 || len(k.dir) > len(near[0].dir):
			near = []madeOf{k}
		case k.dir == near[0].dir:
			near = append(near, k)
		}
	}
	return near
}

func (c choice) covers(dir string) bool {
	if dir == c.here {
		return true
	}
	return dir != "/" && dir != c.userHome && strings.HasPrefix(c.here, dir+"/")
}

func listed(clusters []madeOf) string {
	var names []string
	for _, c := range clusters {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func namesOf(clusters []place.Known) []string {
	var names []string
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	return names
}

// asked is the cluster that the user named, if any.
func (a *app) asked() string { return cmp.Or(a.cluster, os.Getenv(clusterVariable)) }

// tellWhich says which of several clusters a command is about that takes something
// from it, where the command line names none.
func (a *app) tellWhich(w where) {
	if a.asked() != "" {
		return
	}
	if names, _ := knownNames(w.home, w.place); len(names) > 1 {
		a.note("this is about cluster %s, whose file is the nearest", w.name)
	}
}

// which looks for what decides which cluster of a place is meant, and decides. It
// looks at no cluster where one is named.
func (a *app) which(home string, only place.Place) (string, error) {
	c := choice{flag: a.cluster, env: os.Getenv(clusterVariable)}
	if a.asked() != "" {
		return c.cluster()
	}
	var err error
	if c.known, err = known(home, only); err != nil {
		return "", err
	}
	c.lookHere()
	return c.cluster()
}

// lookHere looks where the command runs.
func (c *choice) lookHere() {
	if dir, err := os.Getwd(); err == nil {
		c.here = real(dir)
	}
	if dir, err := os.UserHomeDir(); err == nil {
		c.userHome = real(dir)
	}
}

// known are the clusters that this machine knows of at a place, or at all, by name.
// One name is one cluster here.
func known(home string, only place.Place) ([]madeOf, error) {
	var all []madeOf
	for _, p := range those(only) {
		here, err := p.Known(home)
		if err != nil {
			return nil, err
		}
		for _, k := range here {
			all = append(all, ofFile(k))
		}
	}
	slices.SortStableFunc(all, func(x, y madeOf) int { return strings.Compare(x.name, y.name) })
	return slices.CompactFunc(all, func(x, y madeOf) bool { return x.name == y.name }), nil
}

// knownNames are the names of clusters that this machine knows of.
func knownNames(home string, only place.Place) ([]string, error) {
	all, err := known(home, only)
	var names []string
	for _, k := range all {
		names = append(names, k.name)
	}
	return names, err
}

// ofFile is a cluster with the directory of its file.
func ofFile(k place.Known) madeOf {
	if k.File == "" {
		return madeOf{name: k.Name}
	}
	return madeOf{k.Name, k.File, real(filepath.Dir(k.File))}
}

// real is a path without links, or the path itself where links cannot be read.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}
