//go:build linux

package cli

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
)

// jobSight is what jobs see that are submitted from here, and what the file of the
// cluster says. There are no facts where nobody can tell.
func (a *app) jobSight() (*batch.Facts, sight, error) {
	if inside() {
		facts, s := sightOnHead()
		return facts, s, nil
	}
	l, r, _, err := a.running()
	if err != nil {
		return nil, sight{}, err
	}
	return sightFromHost(l, r)
}

// sightFromHost looks at this machine as nodes of a local cluster show it. The working
// directory is shown to them when a job is submitted.
func sightFromHost(l *nodes.Layout, r nodes.Record) (*batch.Facts, sight, error) {
	file, _ := spec.Load(l.Path("cluster.yaml"))
	if file == nil {
		return nil, sight{}, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, sight{}, nil
	}
	if !r.Visible(dir) && nodes.Shareable(dir) {
		r.Shared = append(slices.Clone(r.Shared), nodes.Mount{Source: dir, Target: dir})
	}
	view, err := l.View(r)
	if err != nil {
		return nil, sight{}, err
	}
	s := sight{stat: view.Stat, dir: dir, functions: bringsFunctions(os.Environ())}
	for _, v := range local.Carry(os.Environ(), local.LookAt(os.Environ(), view)).Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			s.path = path
		}
	}
	facts := batch.FactsOf(file)
	facts.Rehearsal = true
	return facts, s, nil // custom actions, which could change nodes, do not run here
}

// sightOnHead looks at the head node, from which nodes may differ: they share the working
// directory. On AWS only what all share is the same for sure.
func sightOnHead() (*batch.Facts, sight) {
	file, _ := spec.Load(services.ClusterFile)
	dir, err := os.Getwd()
	if file == nil || err != nil {
		return nil, sight{}
	}
	facts := batch.FactsOf(file)
	facts.Rehearsal = !onCloudHead()
	stat := func(path string) (fs.FileInfo, error) {
		for _, d := range append(private, file.ScratchDirs()...) {
			if (path == d || strings.HasPrefix(path, d+"/")) && !strings.HasPrefix(path, dir+"/") {
				return nil, fmt.Errorf("look at %s: %w", path, nodes.ErrUnseen)
			}
		}
		return os.Stat(path)
	}
	s := sight{stat: stat, path: os.Getenv("PATH"), dir: dir, functions: bringsFunctions(os.Environ())}
	return facts, s.sees(facts, onCloudHead())
}
