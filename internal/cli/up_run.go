package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/muster-hpc/muster/internal/cloud"
	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/step"
)

func (a *app) runUp(ctx context.Context, ref cluster.Ref, f files, o upOptions) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	steps, err := cluster.Up(ctx, cluster.UpOptions{
		Ref: ref, File: f.cluster, Workload: f.workload, Source: f.source, WorkloadSource: f.workloadSource,
		WorkDir: dir, NoTest: o.noTest, Report: a.reporter(),
	})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(a.err, "\nmuster: `muster up` goes on from here, `muster down --cluster %s` takes away what there is\n", ref.Name)
	}
	return a.showSteps(changeAnswer{Cluster: ref.Name, Steps: steps}, err)
}

// changeAnswer is what `up` and `down` answer with -o json.
type changeAnswer struct {
	Cluster string      `json:"cluster"`
	Steps   []step.Step `json:"steps"`
	// Plan is what was shown on AWS before anything was made, Left what is left there
	// after everything was taken down.
	Plan *cloud.Plan  `json:"plan,omitempty"`
	Left []cloud.Left `json:"left,omitempty"`
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
