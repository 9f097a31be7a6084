//go:build linux

package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
)

// ofLinux are the commands that are other ones, or none, where this is not Linux.
func (a *app) ofLinux() []*cobra.Command {
	return []*cobra.Command{a.demo(), a.doctor(), a.node(), a.container(), a.fleet(), a.agent(), a.controller()}
}

// makesOne is what to do where there is no cluster.
const makesOne = "`muster up FILE` makes one"

// localHere says that there may be clusters on this machine.
func localHere() error { return nil }

// localNames are the clusters on this machine.
func localNames(home string) ([]string, error) { return nodes.Names(home) }

// localFile is the file that a cluster on this machine was made of.
func localFile(home, name string) string {
	record, err := local.Ref{Home: home, Name: name}.Layout().Record()
	if err != nil {
		return "" // whoever opens the cluster will say
	}
	return record.File
}

// ref is the cluster's where it is local.
func (w where) ref() local.Ref { return local.Ref{Home: w.home, Name: w.name} }

// foreign refuses what only a cluster's owner can do.
func foreign(ref local.Ref) error {
	if owner := ref.Foreign(); owner != "" && !inside() {
		return fault.Coded(fault.CodeForeign, "cluster %s is %s's: only %s with it", ref.Name, owner, local.AndRoot(owner, "works", "work"))
	}
	return nil
}

// mine refuses a cluster of another user's.
func (w where) mine() error { return foreign(w.ref()) }

// ref is the cluster that the command is about.
func (a *app) ref() (local.Ref, error) {
	home, err := homeDir()
	if err != nil {
		return local.Ref{}, err
	}
	name, err := a.which(home, onLocal)
	return local.Ref{Home: home, Name: name}, err
}

// fileHere is the cluster file of the cluster that the command is about.
func (a *app) fileHere() (string, error) {
	ref, err := a.ref()
	if err != nil {
		return "", err
	}
	path := ref.Layout().Path("cluster.yaml")
	if !there(path) {
		return "", noCluster(ref.Home, ref.Name)
	}
	return path, nil
}

// existing is the cluster that the command is about, which must have a record.
func (a *app) existing() (local.Ref, error) {
	ref, err := a.ref()
	if err != nil {
		return ref, err
	}
	if _, err := ref.Layout().Record(); errors.Is(err, fs.ErrNotExist) {
		return ref, noCluster(ref.Home, ref.Name)
	}
	return ref, nil
}

// running is the cluster that the command is about, if it runs.
func (a *app) running() (*nodes.Layout, nodes.Record, nodes.AnchorProcess, error) {
	ref, err := a.ref()
	if err != nil {
		return nil, nodes.Record{}, nodes.AnchorProcess{}, err
	}
	if err := foreign(ref); err != nil {
		return nil, nodes.Record{}, nodes.AnchorProcess{}, err
	}
	l, r, err := nodes.Open(ref.Layout().Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, r, nodes.AnchorProcess{}, noCluster(ref.Home, ref.Name)
	}
	if err != nil {
		return nil, r, nodes.AnchorProcess{}, err
	}
	if os.Getuid() == 0 { // what root enters, root trusts
		if err := ref.Guard(); err != nil {
			return nil, r, nodes.AnchorProcess{}, err
		}
	}
	anchor, alive := l.Alive()
	if !alive {
		return nil, r, anchor, fault.Coded(fault.CodeDown, "cluster %s does not run; `muster up` starts it again", ref.Name)
	}
	return l, r, anchor, nil
}
