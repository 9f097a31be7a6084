package cli

import (
	"errors"

	"github.com/muster-hpc/muster/internal/place"
)

// begun says that a change of a cluster was begun, and not refused before.
func begun(answer place.Answer) bool { return answer.Cluster != "" }

// showSteps answers with what was done, in JSON if that was asked for; the text was shown
// while it was done. A change that was refused has no answer.
func (a *app) showSteps(answer place.Answer, err error) error {
	if a.output != "json" || !begun(answer) {
		return err
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return errors.Join(err, a.writeJSON(answer))
}
