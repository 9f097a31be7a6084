package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services/supervise"
)

// errHangs says that a signal stopped a service. The service is not started again, as it
// would lose what it has in memory, and the signal may have been sent on purpose.
var errHangs = errors.New("its process was stopped by a signal and does not answer until it gets SIGCONT")

// hangsAtMost is how long `up` waits for a service that was stopped.
const hangsAtMost = 10 * time.Second

func hanging(status []supervise.Status, now time.Time) error {
	for _, s := range status {
		if s.Phase == supervise.Hanging && now.Sub(s.Since) >= hangsAtMost {
			return fmt.Errorf("%s hangs since %s: %w", s.Name, s.Since.Format(time.TimeOnly), errHangs)
		}
	}
	return nil
}

// settleWait is how long the controller may take until it has asked slurmctld for all
// nodes and done what follows.
const settleWait = time.Minute

// settle waits until the controller has set down the nodes that slurmctld's saved
// state calls up and that died with the machine: no job must get them. It also proves
// that the two answer, and do not only listen.
func settle(ctx context.Context, l *nodes.Layout) error {
	var last error
	err := await(ctx, settleWait, askEvery, func() (bool, error) {
		if _, alive := l.Alive(); !alive {
			return false, errHeadEnded
		}
		last = askToSettle(ctx, l)
		return last == nil, nil // it may be starting again just now
	})
	if err == nil || last == nil {
		return err
	}
	return fmt.Errorf("wait for the controller to look at the nodes: %w: %w", err, last)
}

// askToSettle waits for one answer.
func askToSettle(ctx context.Context, l *nodes.Layout) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleWait, fmt.Errorf("no answer within %s", settleWait))
	defer cancel()
	return Controller(l).Settle(ctx)
}

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
