package keeper

import (
	"fmt"
	"maps"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/slurm"
)

// forsakenAfter is how long a job may be held for its secrets: they follow it at once, or whoever submitted it was cut off.
const forsakenAfter = 5 * time.Minute

// forsaken says that a job waits for secrets that nobody brings. One that was let go once, and is held again, has them.
func forsaken(j slurm.Job, now time.Time) bool {
	return held(j) && j.Comment == client.AwaitsSecrets && j.EligibleTime.IsZero() && now.Sub(j.SubmitTime) > forsakenAfter
}

// tellForsaken tells of such jobs, once of each.
func (k *Keeper) tellForsaken(jobs []slurm.Job, now time.Time) {
	there := map[int]bool{}
	for _, j := range jobs {
		there[j.ID] = true
		if k.forsaken[j.ID] || !forsaken(j, now) {
			continue
		}
		k.forsaken[j.ID] = true
		k.Tell(Event{Job: j.ID, Kind: "job waits", Reason: fmt.Sprintf("job %s (%s) of %s waits, held, for secrets that did not arrive: who submitted it was cut off", j.Label(), j.Name, j.User),
			Hint: fmt.Sprintf("`muster job cancel %d`, and submit it again", j.ID)})
	}
	maps.DeleteFunc(k.forsaken, func(id int, _ bool) bool { return !there[id] })
}
