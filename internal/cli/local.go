//go:build linux

package cli

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
)

// places are all places. The first is the default.
var places = []place.Place{local.Place{}, aws.Place{}}

// ofLinux are the commands that are other ones, or none, where this is not Linux.
func (a *app) ofLinux() []*cobra.Command {
	return []*cobra.Command{a.demo(), a.doctor(), a.node(), a.container(), a.fleet(), a.agent(), a.controller()}
}

// makesOne is what to do where there is no cluster.
const makesOne = "`muster up FILE` makes one"

// What follows is for commands that only clusters on this machine have.

// ref is the cluster on this machine that the command is about.
func (a *app) ref() (local.Ref, error) {
	home, err := homeDir()
	if err != nil {
		return local.Ref{}, err
	}
	name, err := a.which(home, local.Place{})
	return local.Ref{Home: home, Name: name}, err
}

// fileHere is the cluster file of that cluster.
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

// running is that cluster, if it runs.
func (a *app) running() (*nodes.Layout, nodes.Record, nodes.AnchorProcess, error) {
	ref, err := a.ref()
	if err != nil {
		return nil, nodes.Record{}, nodes.AnchorProcess{}, err
	}
	l, r, anchor, err := ref.Running()
	if errors.Is(err, fs.ErrNotExist) {
		err = noCluster(ref.Home, ref.Name)
	}
	return l, r, anchor, err
}
