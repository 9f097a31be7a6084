package cli

import (
	"errors"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/step"
)

// changeAnswer is what `up` and `down` answer with -o json.
type changeAnswer struct {
	Cluster string      `json:"cluster"`
	Steps   []step.Step `json:"steps"`
	// Plan is what was shown on AWS before anything was made, Left what is left there
	// after everything was taken down.
	Plan *aws.Plan  `json:"plan,omitempty"`
	Left []aws.Left `json:"left,omitempty"`
	// NotExported is what a local cluster left behind that is not in its buckets.
	NotExported *unexported `json:"not_exported,omitempty"`
	// Error is what ended the command before its last step.
	Error string `json:"error,omitempty"`
}

// showSteps answers with what was done, in JSON if that was asked for; the text
// was shown while it was done.
func (a *app) showSteps(answer changeAnswer, err error) error {
	if a.output != "json" {
		return err
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return errors.Join(err, a.writeJSON(answer))
}
