//go:build linux

package status

import (
	"path/filepath"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/services/supervise"
)

// JudgeServices says whether the services run.
func (c *Cluster) JudgeServices(running []supervise.Status, err error, logs string, now time.Time) {
	c.State = "starting"
	if err != nil {
		c.Unseen("services: %v", err)
		return
	}
	for _, x := range running {
		c.Services = append(c.Services, Service{
			Name: x.Name, Phase: string(x.Phase), PID: x.PID, Since: x.Since, Restarts: x.Restarts, Last: x.Last,
		})
	}
	ready := true
	for _, x := range c.Services {
		if x.Phase == Ready {
			continue
		}
		ready = false
		c.Needs("service %s is %s since %s%s; see %s", x.Name, x.Phase, count.Span(now.Sub(x.Since)), x.LastRun(), filepath.Join(logs, x.Name+".log"))
	}
	if ready {
		c.State = "up"
	}
}
