package local

import (
	"slices"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/supervise"
)

// works tells whether the cluster runs and its slurmctld is ready.
func (u *up) works() bool {
	_, alive := u.layout.Alive()
	return alive && u.ready("slurmctld")
}

func (u *up) ready(service string) bool { return ready(u.layout, service) }

func ready(l *nodes.Layout, service string) bool {
	status, err := supervise.LoadStatus(l.Path("run", "services.json"))
	return err == nil && !slices.Contains(unready(status), service)
}

// pidOf is a service's process as the anchor sees it, 0 while there is none.
func (u *up) pidOf(service string) int {
	status, err := supervise.LoadStatus(u.layout.Path("run", "services.json"))
	i := slices.IndexFunc(status, func(s supervise.Status) bool { return s.Name == service })
	if err != nil || i < 0 {
		return 0
	}
	return status[i].PID
}

func unready(status []supervise.Status) []string {
	var names []string
	for _, s := range status {
		if s.Phase != supervise.Ready {
			names = append(names, s.Name)
		}
	}
	return names
}
