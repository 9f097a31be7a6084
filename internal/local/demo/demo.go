// Package demo tells the whole story on one machine: from a cluster file to a
// trained model, through the loss of a node, and back to nothing. Every step is
// one that users can take themselves; the demo adds only what it proves about
// each. It leaves nothing behind, however it ends.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/doctor"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Options say how the story is told.
type Options struct {
	Home string
	// Dir is where the demo's files are written; it must not exist.
	Dir string
	// Keep leaves the cluster up and the files in place.
	Keep   bool
	Doctor doctor.Options
	Report step.Reporter
	// Out takes the lines of the training's log that tell the story.
	Out io.Writer
}

// Name is the demo's cluster.
const Name = "demo"

// Result is what the demo did.
type Result struct {
	Steps []step.Step `json:"steps"`
	// Weights is the SHA-256 of the trained model's weights.
	Weights string  `json:"weights_sha256,omitempty"`
	Seconds float64 `json:"seconds"`
	Kept    bool    `json:"kept"`
}

type demo struct {
	Options
	steps   step.Series
	files   files
	ref     local.Ref
	layout  *nodes.Layout
	anchor  nodes.AnchorProcess
	slurm   slurm.Client
	image   string
	job     int
	weights string
}

// Run runs the demo. However it ends, the cluster is taken down, unless it is to
// be kept and all went well.
func Run(ctx context.Context, o Options) (Result, error) {
	began := time.Now()
	d := &demo{Options: o, steps: step.Series{Report: o.Report}, ref: local.Ref{Home: o.Home, Name: Name}}
	d.layout = d.ref.Layout()
	err := d.check(ctx)
	if err == nil {
		err = d.tell(ctx)
		if err != nil && ctx.Err() == nil {
			d.explain()
		}
		if err != nil || !o.Keep {
			err = errors.Join(err, d.end(ctx))
		}
	}
	return Result{Steps: d.steps.Done, Weights: d.weights, Seconds: time.Since(began).Seconds(), Kept: o.Keep && err == nil}, err
}

// check refuses to touch what an earlier demo or a user left.
func (d *demo) check(ctx context.Context) error {
	if err := d.steps.Do("look at this machine", func() (string, error) { return d.examine(ctx) }); err != nil {
		return err
	}
	if _, err := d.layout.Record(); err == nil {
		return fmt.Errorf("there is a cluster %s already; `muster down --cluster %s --delete-data` takes it down", Name, Name)
	}
	if _, err := os.Stat(d.layout.Path("shared")); err == nil {
		return fmt.Errorf("%s has data of an earlier cluster %s; move it away or delete it", d.layout.Dir, Name)
	}
	if _, err := os.Stat(d.Dir); err == nil {
		return fmt.Errorf("%s exists already; the demo writes its files there and removes them", d.Dir)
	}
	return nil
}

func (d *demo) examine(ctx context.Context) (string, error) {
	report, err := doctor.Run(ctx, d.Doctor)
	if errors.Is(err, doctor.ErrNotRoot) {
		return "", fmt.Errorf("%w; run as root: %s", err, report.Command)
	}
	if err != nil {
		return "", err
	}
	for _, f := range report.Checks {
		if f.Status == doctor.Fail {
			return "", fmt.Errorf("%s: %s; %s", f.Name, f.Text, f.Hint)
		}
	}
	return fmt.Sprintf("%d checks, %d packages installed", len(report.Checks), len(report.Installed)), nil
}

// tell is the story itself.
func (d *demo) tell(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"check the cluster file", d.load},
		{"install PyTorch for an image", d.install},
		{"bring the cluster up", d.up},
		{"put the image into the registry", d.pushImage},
		{"import the image", d.importImage},
		{"submit the training job", d.submit},
		{"train on two nodes", d.train},
		{"pull the plug of a node", d.pullPlug},
		{"go on from the last checkpoint", d.resume},
		{"finish the training", d.finish},
		{"train again, undisturbed, and compare", d.compare},
		{"read everything back from S3", d.readBack},
		{"let idle nodes go", d.idle},
	} {
		if err := d.steps.Do(step.name, func() (string, error) { return step.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// cleanUpWait is long enough to end everything after an interrupt.
const cleanUpWait = 60 * time.Second

// end takes the cluster down with all its data and removes the demo's files,
// also after an interrupt.
func (d *demo) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpWait)
	defer cancel()
	done, err := local.Down(ctx, local.DownOptions{Ref: d.ref, DeleteData: true, Report: d.Report})
	d.steps.Done = append(d.steps.Done, done.Steps...)
	return errors.Join(err, os.RemoveAll(d.Dir))
}

// explain shows the ends of the logs after something went wrong.
func (d *demo) explain() {
	for _, pattern := range []string{"log/*.log", "log/events.jsonl", "log/nodes/*.log", "shared/fsx3/*/logs/*.out"} {
		paths, _ := filepath.Glob(d.layout.Path(pattern))
		for _, p := range paths {
			fmt.Fprintf(d.Out, "--- the end of %s\n%s\n", p, lastLines(p, 8))
		}
	}
}
