package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/fault"
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
	return fault.Usage(fmt.Errorf("there is no place %q: a cluster is on local or on aws", place))
}

// where is a cluster's place.
type where struct {
	home, name string
	// place is local or aws, record that of a cluster on AWS; it is empty but for the
	// name where this machine does not know of it.
	place  string
	record aws.Record
}

// errNone says that this machine knows of no cluster.
var errNone = fault.Coded(fault.CodeNone, "there is no cluster; %s", makesOne)

// find finds the cluster that the command is about. place, if not empty, is where it
// has to be.
func (a *app) find(place string) (where, error) {
	w := where{place: place}
	err := checkPlace(place)
	if err == nil {
		w.home, err = homeDir()
	}
	if err != nil {
		return w, err
	}
	if w.name, err = a.which(w.home, place); err != nil {
		return w, err
	}
	if w, err = w.settle(place); err == nil && w.place == onLocal && localHere() != nil {
		err = noCluster(w.home, w.name)
	}
	if err == nil && w.place == onLocal {
		err = w.mine()
	}
	return w, err
}

// settle finds the place of a cluster whose name is known.
func (w where) settle(place string) (where, error) {
	names, err := knownNames(w.home, place)
	if err != nil {
		return w, err
	}
	isLocal, err := localCluster(w.home, w.name)
	if err != nil {
		return w, err
	}
	record, err := aws.RecordOf(w.home, w.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		record = aws.Record{Name: w.name}
	case err != nil:
		return w, err
	}
	w.record = record
	if w.place != "" {
		return w, nil
	}
	switch {
	case isLocal && record.Region != "":
		return w, fault.Usage(fmt.Errorf("there are two clusters %s; say which with --on local or --on aws", w.name))
	case isLocal:
		w.place = onLocal
	case record.Region != "" || api.Configured() && !near(w.name, names):
		w.place = onAWS
	default:
		w.place = onLocal
	}
	return w, nil
}

// near says that a name is probably a misspelt one.
func near(name string, names []string) bool { return diag.Nearest(name, names) != "" }

func localCluster(home, name string) (bool, error) {
	names, err := localNames(home)
	return slices.Contains(names, name), err
}

// accountOf opens the account of a cluster on AWS.
func (w where) accountOf(ctx context.Context) (*api.Account, error) {
	return api.Open(ctx, w.record.Region)
}
