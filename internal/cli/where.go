package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/cloud"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// Places where clusters are.
const (
	onLocal = "local"
	onAWS   = "aws"
)

// checkPlace refuses a place that muster does not know. An empty one is any.
func checkPlace(place string) error {
	switch place {
	case "", onAWS:
		return nil
	case onLocal:
		return localHere()
	}
	return usageError{fmt.Errorf("there is no place %q: a cluster is on local or on aws", place)}
}

// where is a cluster's place.
type where struct {
	home, name string
	// place is local or aws, record that of a cluster on AWS; it is empty but for the
	// name where this machine does not know of it.
	place  string
	record cloud.Record
}

// errNone says that this machine knows of no cluster.
var errNone = errors.New("there is no cluster; " + makesOne)

// find finds the cluster that the command is about: the one that is named, or the
// only one that this machine knows of. place, if not empty, is where it has to be.
func (a *app) find(place string) (where, error) {
	w := where{place: place}
	err := checkPlace(place)
	if err == nil {
		w.home, err = homeDir()
	}
	if err != nil {
		return w, err
	}
	names, err := known(w.home, place)
	if err != nil {
		return w, err
	}
	switch {
	case a.cluster != "":
		w.name, err = a.cluster, spec.CheckName(a.cluster)
	case len(names) == 0:
		err = errNone
	case len(names) > 1:
		err = usageError{fmt.Errorf("there are %d clusters (%s); say which with --cluster", len(names), strings.Join(names, ", "))}
	default:
		w.name = names[0]
	}
	if err != nil {
		return w, err
	}
	if w, err = w.settle(names); err == nil && w.place == onLocal && localHere() != nil {
		err = noCluster(w.home, w.name)
	}
	if err == nil && w.place == onLocal {
		err = w.mine()
	}
	return w, err
}

// settle finds the place of a cluster whose name is known.
func (w where) settle(names []string) (where, error) {
	isLocal, err := localCluster(w.home, w.name)
	if err != nil {
		return w, err
	}
	record, err := cloud.RecordOf(w.home, w.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		record = cloud.Record{Name: w.name}
	case err != nil:
		return w, err
	}
	w.record = record
	if w.place != "" {
		return w, nil
	}
	switch {
	case isLocal && record.Region != "":
		return w, usageError{fmt.Errorf("there are two clusters %s; say which with --on local or --on aws", w.name)}
	case isLocal:
		w.place = onLocal
	case record.Region != "" || account.Configured() && !near(w.name, names):
		w.place = onAWS
	default:
		w.place = onLocal
	}
	return w, nil
}

// near says that a name is probably a misspelt one.
func near(name string, names []string) bool { return diag.Nearest(name, names) != "" }

// known are the clusters that this machine knows of at a place, or at all.
func known(home, place string) ([]string, error) {
	var names []string
	if place != onAWS {
		here, err := localNames(home)
		if err != nil {
			return nil, err
		}
		names = append(names, here...)
	}
	if place != onLocal {
		records, err := cloud.Records(home)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func localCluster(home, name string) (bool, error) {
	names, err := localNames(home)
	return slices.Contains(names, name), err
}

// accountOf opens the account of a cluster on AWS.
func (w where) accountOf(ctx context.Context) (*account.Account, error) {
	return account.Open(ctx, w.record.Region)
}
