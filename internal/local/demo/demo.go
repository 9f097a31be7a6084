// Package demo shows on one machine what muster does: it brings a cluster up, runs a
// job on all its nodes, kills a node under a training, shows that the job goes on
// from its last checkpoint, and takes everything down. The whole demo also trains
// with PyTorch in a container and waits until idle nodes are gone. Each step is one
// that users can take themselves; the demo adds a proof of its result. It leaves
// nothing behind, however it ends.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/doctor"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Options are the demo's options.
type Options struct {
	Home string
	// Dir is where the demo's files are written; if it exists, it has only files of an earlier demo.
	Dir string
	// Whole adds the training with PyTorch in a container, and the end of idle nodes.
	Whole bool
	// Keep leaves the cluster up and the files in place.
	Keep   bool
	Doctor doctor.Options
	Report step.Reporter
	// Out gets the ends of the logs after a failure.
	Out io.Writer
}

// Name is the demo's cluster.
const Name = "demo"

// Result is what the demo did.
type Result struct {
	Steps []step.Step `json:"steps"`
	// Weights is the SHA-256 of the trained model's weights: PyTorch's if it trained.
	Weights string `json:"weights_sha256,omitempty"`
	// FirstJobSeconds is when the first job had run on all nodes, from the start on.
	FirstJobSeconds float64 `json:"first_job_seconds,omitempty"`
	Seconds         float64 `json:"seconds"`
	Kept            bool    `json:"kept"`
}

type demo struct {
	Options
	began   time.Time
	tell    *narrator
	steps   step.Series
	files   files
	folder  *folder
	ref     local.Ref
	layout  *nodes.Layout
	anchor  nodes.AnchorProcess
	slurm   slurm.Client
	install installation
	image   string
	result  Result
}

// Run runs the demo. However it ends, the cluster is taken down, unless it is to
// be kept and all went well.
func Run(ctx context.Context, o Options) (Result, error) {
	d := &demo{Options: o, began: time.Now(), tell: &narrator{to: o.Report}, ref: local.Ref{Home: o.Home, Name: Name}}
	d.Report = d.tell
	d.steps.Report = d.tell
	d.layout = d.ref.Layout()
	story := d.story()
	for _, line := range outline(story, o.Keep) {
		d.Report.Note(line)
	}
	err := d.check(ctx)
	if err == nil {
		err = d.run(ctx, story)
		if err != nil {
			err = d.explain(ctx, err)
		}
		d.install.stop()
		if err != nil || !o.Keep {
			err = errors.Join(err, d.end(ctx))
		} else {
			err = d.folder.mark.Close()
		}
	}
	d.result.Steps, d.result.Seconds, d.result.Kept = d.steps.Done, time.Since(d.began).Seconds(), o.Keep && err == nil
	return d.result, err
}

// story is what the demo does between its first look at the machine and its end.
func (d *demo) story() []part {
	small := training{demo: d, script: "bytelm.sbatch", killAfter: 130, again: "undisturbed", againLog: "/fsx3/logs/undisturbed-%j.out"}
	torch := training{demo: d, script: torchScript, killAfter: 70, again: "model2", againLog: "/fsx3/model2/logs/%j.out"}
	short := []part{
		{name: "check the cluster file", do: d.load},
		{name: "bring the cluster up", about: 4 * time.Second, do: d.up},
		{name: "run a job on all nodes", about: 4 * time.Second, do: d.runOnAll},
		{name: "train on all nodes", about: 10 * time.Second, do: small.train},
		{name: "pull the plug of a node", do: small.pullPlug},
		{name: "go on from the last checkpoint", about: 10 * time.Second, do: small.resume},
		{name: "finish the training", about: 6 * time.Second, do: small.finish},
		{name: "train again, undisturbed, and compare", about: 15 * time.Second, do: small.compare},
		{name: "read everything back from S3", about: time.Second, do: d.readBack},
	}
	if !d.Whole {
		return short
	}
	last := len(short) - 1
	begin := part{name: "begin to install PyTorch for an image", do: d.beginInstall}
	idle := part{name: "let idle nodes go", about: 64 * time.Second, do: d.idle, fixed: true}
	return slices.Concat(short[:1], []part{begin}, short[1:last], []part{
		{name: "install PyTorch for an image", about: 30 * time.Second, do: d.awaitInstall},
		{name: "put the image into the registry", about: 11 * time.Second, do: d.pushImage},
		{name: "import the image", about: 6 * time.Second, do: d.importImage},
		{name: "train with PyTorch on two nodes", about: 16 * time.Second, do: torch.train},
		{name: "pull the plug of one of the two", do: torch.pullPlug},
		{name: "go on from PyTorch's last checkpoint", about: 15 * time.Second, do: torch.resume},
		{name: "finish the training with PyTorch", about: 20 * time.Second, do: torch.finish},
		{name: "train with PyTorch again and compare", about: 32 * time.Second, do: torch.compare},
	}, short[last:], []part{idle})
}

// run runs the parts of the story one after the other.
func (d *demo) run(ctx context.Context, story []part) error {
	for i, p := range story {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := d.tell.during(p.name, title(story, i, d.steps.Done), func() error {
			return d.steps.Do(p.name, func() (string, error) { return p.do(ctx) })
		})
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx) // what failed for it says less
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check takes the demo's folder. It refuses to touch a cluster or a user's files, and removes
// the files of a demo that was killed.
func (d *demo) check(ctx context.Context) error {
	if err := d.steps.Do("look at this machine", func() (string, error) { return d.examine(ctx) }); err != nil {
		return err
	}
	return d.takeFolder()
}

// takeFolder takes the demo's folder, without what an earlier demo left in it.
func (d *demo) takeFolder() error {
	var err error
	if d.folder, err = takeFolder(d.Dir); err != nil {
		return err
	}
	if err := d.noCluster(); err != nil {
		return errors.Join(err, d.folder.release())
	}
	if err := d.folder.clear(); err != nil {
		return errors.Join(err, d.folder.mark.Close())
	}
	return nil
}

// noCluster fails if there is a cluster of the demo's name, or data of one.
func (d *demo) noCluster() error {
	if _, err := d.layout.Record(); err == nil {
		return fmt.Errorf("there is a cluster %s already; `muster down --cluster %s --delete-data` takes it down", Name, Name)
	}
	if _, err := os.Stat(d.layout.Path("shared")); err == nil {
		return fmt.Errorf("%s has data of an earlier cluster %s; move it away or delete it", d.layout.Dir, Name)
	}
	return nil
}

// examine looks at the machine and installs missing packages.
func (d *demo) examine(ctx context.Context) (string, error) {
	look := d.Doctor
	look.Install = false
	report, err := doctor.Run(ctx, look)
	if err == nil && d.Doctor.Install && report.Command != "" {
		d.Report.Note(fmt.Sprintf("to install first, which may take minutes: %s", count.Of(len(report.Missing), "package")))
		report, err = doctor.Run(ctx, d.Doctor)
	}
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

// cleanUpWait is long enough to end everything after an interrupt.
const cleanUpWait = 60 * time.Second

// end takes the cluster down with all its data and removes the demo's files,
// also after an interrupt.
func (d *demo) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpWait)
	defer cancel()
	done, err := local.Down(ctx, local.DownOptions{Ref: d.ref, DeleteData: true, Report: d.Report})
	d.steps.Done = append(d.steps.Done, done.Steps...)
	return errors.Join(err, d.folder.remove())
}
