package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/status"
)

// Place is this machine.
type Place struct{}

// Name implements place.Place.
func (Place) Name() string { return "local" }

// On implements place.Place.
func (Place) On() string { return "on this machine" }

// Here implements place.Place.
func (Place) Here() error { return nil }

// Asks implements place.Place.
func (Place) Asks() bool { return false }

// Known implements place.Place.
func (Place) Known(home string) ([]place.Known, error) {
	names, err := nodes.Names(home)
	var all []place.Known
	for _, name := range names {
		record, _ := Ref{Home: home, Name: name}.Layout().Record() // an error shows when the cluster is opened
		all = append(all, place.Known{Name: name, File: record.File})
	}
	return all, err
}

// Kept implements place.Place.
func (Place) Kept(home string) []place.Kept {
	var all []place.Kept
	for _, name := range Kept(home) {
		ref := Ref{Home: home, Name: name}
		all = append(all, place.Kept{Known: place.Known{Name: name, File: ref.madeOf()}, Dir: ref.Layout().Dir})
	}
	return all
}

// Lacks implements place.Place: there is one way in.
func (Place) Lacks(command, flag string) bool {
	switch command {
	case "shell", "exec", "ssh":
		return slices.Contains([]string{"user", "identity", "private", "ssm"}, flag)
	}
	return false
}

// Look implements place.Place.
func (Place) Look(ctx context.Context, q place.Query) ([]status.Cluster, error) {
	if q.Name != "" {
		if err := spec.CheckName(q.Name); err != nil {
			return nil, err
		}
	}
	names, err := nodes.Names(q.Home)
	if err != nil {
		return nil, err
	}
	names = append(names, nodes.WithoutDirectory(q.Home, os.Getuid())...)
	names = slices.DeleteFunc(names, func(n string) bool { return q.Name != "" && n != q.Name })
	return status.All(names, func(n string) status.Cluster { return Status(ctx, Ref{Home: q.Home, Name: n}) }), nil
}

// Open implements place.Place.
func (Place) Open(home, name string, t place.Talk) (place.Cluster, error) {
	c := cluster{Ref: Ref{Home: home, Name: name}, talk: t}
	return c, c.mine()
}

// cluster is a cluster on this machine.
type cluster struct {
	Ref
	talk place.Talk
}

// mine refuses users other than the cluster's owner, but on the cluster's own machines none.
func (r Ref) mine() error {
	if _, err := os.Stat(services.Muster); err == nil {
		return nil
	}
	if owner := r.foreign(); owner != "" {
		return fault.Coded(fault.CodeForeign, "cluster %s is %s's: only %s with it", r.Name, owner, andRoot(owner, "works", "work"))
	}
	return nil
}

// Taken implements place.Cluster.
func (c cluster) Taken(place.Other) error {
	return fmt.Errorf("there is a local cluster %[1]s: choose another name with --cluster, or take it down with `muster down --cluster %[1]s`", c.Name)
}

// running is the cluster, if it runs.
func (c cluster) running() (*nodes.Layout, nodes.Record, nodes.AnchorProcess, error) {
	l, r, anchor, err := c.Running()
	if errors.Is(err, fs.ErrNotExist) {
		err = c.talk.None(c.Name)
	}
	return l, r, anchor, err
}

// damagedRecord adds to an error of a record that could be read, and makes no sense, what can still be done.
func (r Ref) damagedRecord(err error) error {
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return err
	}
	return fmt.Errorf("%w; `muster down --cluster %s` takes away what there is of the cluster", err, r.Name)
}

// Running is the cluster's run directory, its record and its first process, if the caller
// may use it and it runs. One that is not there is fs.ErrNotExist.
func (r Ref) Running() (*nodes.Layout, nodes.Record, nodes.AnchorProcess, error) {
	if err := r.mine(); err != nil {
		return nil, nodes.Record{}, nodes.AnchorProcess{}, err
	}
	l, record, err := nodes.Open(r.Layout().Dir)
	if err != nil {
		return nil, record, nodes.AnchorProcess{}, r.damagedRecord(err)
	}
	if os.Getuid() == 0 { // what root enters, root trusts
		if err := r.guard(); err != nil {
			return nil, record, nodes.AnchorProcess{}, err
		}
	}
	anchor, alive := l.Alive()
	if !alive {
		return nil, record, anchor, fault.Coded(fault.CodeDown, "cluster %s does not run; `muster up` starts it again", r.Name)
	}
	return l, record, anchor, nil
}
