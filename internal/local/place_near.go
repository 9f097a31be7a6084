package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Near implements place.Cluster.
func (c cluster) Near() place.Near { return near{c} }

// near is a cluster on this machine, seen from outside.
type near struct{ cluster }

// Slurm implements place.Near.
func (n near) Slurm() (slurm.Client, error) {
	l, _, anchor, err := n.running()
	return slurmOf(l, anchor), err
}

// Control implements place.Near.
func (n near) Control() (client.Client, error) {
	l, _, _, err := n.running()
	if err != nil {
		return client.Client{}, err
	}
	return Controller(l), nil
}

// Events implements place.Near. They are there as long as the cluster is, running or not.
func (n near) Events() (string, error) {
	if _, err := n.Layout().Record(); errors.Is(err, fs.ErrNotExist) {
		return "", n.talk.None(n.Name)
	}
	return n.Layout().Path("log", "events.jsonl"), nil
}

// Processes implements place.Near.
func (n near) Processes() (map[string]place.Process, error) {
	_, _, anchor, err := n.running()
	if err != nil {
		return nil, err
	}
	return processes(anchor)
}

// Inside are the nodes as the cluster's own machines see them.
func Inside() (map[string]place.Process, error) { return processes(nodes.AnchorProcess{PID: 1}) }

func processes(anchor nodes.AnchorProcess) (map[string]place.Process, error) {
	running, err := nodes.Running(anchor)
	if err != nil {
		return nil, fmt.Errorf("look for the nodes' processes: %w", err)
	}
	all := map[string]place.Process{}
	for _, r := range running {
		pid, _ := strconv.Atoi(r.ID)
		all[r.Node] = place.Process{PID: pid, Started: r.Started}
	}
	return all, nil
}

// Bring implements place.Near. Of a file that is not there, the head node will tell.
func (n near) Bring(ctx context.Context, script string) error {
	if err := n.shareFolder(ctx, script); err != nil {
		return err
	}
	e, err := n.entrance(ctx)
	if err != nil {
		return err
	}
	if text := e.carried.behind(); text != "" {
		n.talk.Note("%s", text)
	}
	return nil
}

// shareFolder shows a file's folder on the cluster.
func (n near) shareFolder(ctx context.Context, file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	l, r, _, err := n.running()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if r.Visible(dir) || !nodes.Shareable(dir) {
		return nil
	}
	return share(ctx, l, dir)
}

// Sight implements place.Near. The working directory is shown to nodes when a job is
// submitted.
func (n near) Sight() (place.Sight, error) {
	l, r, _, err := n.running()
	if err != nil {
		return place.Sight{}, err
	}
	file, _ := spec.Load(l.Path("cluster.yaml"))
	if file == nil {
		return place.Sight{}, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return place.Sight{}, nil
	}
	if !r.Visible(dir) && nodes.Shareable(dir) {
		r.Shared = append(slices.Clone(r.Shared), nodes.Mount{Source: dir, Target: dir})
	}
	view, err := l.View(r)
	if err != nil {
		return place.Sight{}, err
	}
	s := place.Sight{File: file, Stat: view.Stat}
	for _, v := range carry(os.Environ(), lookAt(os.Environ(), view)).Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			s.Path = path
		}
	}
	return s, nil
}

// Send implements place.Cluster: near clusters see scripts where they are.
func (c cluster) Send(_ context.Context, script string, _ []byte) (string, error) {
	return filepath.Abs(script)
}

// Fleet implements place.Cluster.
func (c cluster) Fleet(ctx context.Context, o client.FleetOrder) error {
	l, _, _, err := c.running()
	if err != nil {
		return err
	}
	return Controller(l).OrderFleet(ctx, o)
}
