package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/spec"
)

// upChoice is what decides which cluster `up FILE` makes or changes.
type upChoice struct {
	// flag is what --cluster says, env what MUSTER_CLUSTER says.
	flag, env string
	// file is the path of the cluster file without links, empty for a pipe, byFile the name that a new
	// cluster of it gets, badName why it cannot give one.
	file, byFile string
	badName      error
	known        []madeOf
}

// cluster is the name of the cluster. told is a note where the user
// could expect another name: the file's cluster exists under that one, and is changed.
func (c upChoice) cluster() (name, told string, err error) {
	if c.flag != "" {
		return c.flag, "", spec.CheckName(c.flag)
	}
	var of []madeOf
	for _, k := range c.known {
		if k.file != "" && real(k.file) == c.file {
			of = append(of, k)
		}
	}
	has := func(name string) bool { return slices.ContainsFunc(of, func(k madeOf) bool { return k.name == name }) }
	switch {
	case len(of) == 0 || c.badName == nil && has(c.byFile):
		return c.byFile, "", c.badName
	case len(of) == 1:
		return of[0].name, c.tell(of[0].name), nil
	case has(c.env):
		return c.env, "", nil
	}
	return "", "", several(fmt.Sprintf("%d clusters were made of %s: %s", len(of), c.file, listed(of)))
}

// tell says that a cluster which is not named for its file is meant.
func (c upChoice) tell(name string) string {
	return fmt.Sprintf("this is about cluster %s, which was made of this file; --cluster %s makes another one", name, cmp.Or(c.byFile, "NAME"))
}

// nameForUp is the name of the cluster that a file makes or changes at a place, and the
// folder that all are in, with a word for the user about the name, if there is need of one.
func (a *app) nameForUp(file string, at place.Place) (home, name, told string, err error) {
	if home, err = homeDir(); err != nil {
		return "", "", "", err
	}
	c := upChoice{flag: a.cluster, env: os.Getenv(clusterVariable)}
	c.byFile, c.badName = spec.NameOf(file)
	if path := spec.Lasting(file); path != "" {
		c.file = real(path)
	}
	if c.flag == "" {
		if c.known, err = known(home, at); err != nil {
			return "", "", "", err
		}
	}
	if name, told, err = c.cluster(); err != nil {
		return "", "", "", fault.Usage(err)
	}
	return home, name, told, nil
}
