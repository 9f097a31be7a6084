package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

func (a *app) jobInit() *cobra.Command {
	var d jobfile.Draft
	var force bool
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a job file",
		Long: `Init writes a job file, job.yaml if no other name is given: what a training job is,
with comments. On a terminal it asks for what no flag says; elsewhere --script is
needed, and the rest is as usual.

"muster run" submits the file, "muster job script" shows the batch script that it
becomes. A file that is there is left alone, unless --force is given.`,
		Example: "  muster job init\n  muster job init --script train.py --nodes 4 --launcher fsdp --time 7-00:00:00\n" +
			"  muster job init --gpus 4 --script tune.py tune.yaml",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			file := "job.yaml"
			if len(args) > 0 {
				file = args[0]
			}
			if !force && there(file) {
				return fmt.Errorf("%s is there already: give another name, or --force to write over it", file)
			}
			if err := a.fillDraft(c, &d); err != nil {
				return err
			}
			return a.writeDraft(file, d)
		},
	}
	flags := c.Flags()
	flags.StringVar(&d.Job, "name", "", "the job's `NAME` (default: the script's)")
	flags.IntVar(&d.Nodes, "nodes", 0, "whole nodes (default 1)")
	flags.IntVar(&d.GPUs, "gpus", 0, "GPUs, for a part of one node")
	flags.StringVar(&d.Model, "model", "", "the `MODEL` of muster.yaml that says how many nodes")
	flags.StringVar(&d.Queue, "queue", "", "the queue (default: the first with GPUs)")
	flags.StringVar(&d.Launcher, "launcher", "", "what starts the ranks: torchrun (default), fsdp, deepspeed, megatron, accelerate, srun")
	flags.StringVar(&d.Script, "script", "", "the program")
	flags.StringVar(&d.Python, "python", "", "the interpreter (default python3)")
	flags.StringVar(&d.Image, "image", "", "a container image")
	flags.StringVar(&d.Checkpoints, "checkpoints", "", "the `DIR` of its checkpoints")
	repeat(flags, &d.Data, "data", "a `DIR` that must be there; may be repeated")
	flags.StringVar(&d.Time, "time", "", "the time limit (default 1-00:00:00)")
	flags.BoolVar(&force, "force", false, "write over a file that is there")
	return c
}

// usual are the values of what neither a flag nor the user says.
const (
	usualLauncher = string(jobfile.Torchrun)
	usualTime     = "1-00:00:00"
)

// fillDraft asks for what no flag says, where there is somebody to ask.
func (a *app) fillDraft(c *cobra.Command, d *jobfile.Draft) error {
	if given := slices.DeleteFunc([]string{"nodes", "gpus", "model"}, func(f string) bool { return !c.Flags().Changed(f) }); len(given) > 1 {
		return fault.Usage(errors.New("--nodes, --gpus and --model each say how much of the cluster the job takes: leave out all but one"))
	}
	if c.Flags().Changed("nodes") && d.Nodes < 1 {
		return noNodes(strconv.Itoa(d.Nodes))
	}
	if c.Flags().Changed("gpus") && d.GPUs < 1 {
		return fault.Usage(fmt.Errorf("\"%d\" is no number of GPUs", d.GPUs))
	}
	in, isFile := a.in.(*os.File)
	if isFile && term.IsTerminal(int(in.Fd())) && a.isTerminal() {
		ask := question{in: bufio.NewReader(in), app: a}
		if err := ask.draft(c, d); err != nil {
			return err
		}
	}
	if d.Script == "" {
		return fault.Usage(errors.New("nothing says what runs: give --script, or run it on a terminal"))
	}
	if d.Job == "" {
		d.Job = jobName(d.Script)
	}
	if d.Launcher == "" {
		d.Launcher = usualLauncher
	}
	if d.Time == "" {
		d.Time = usualTime
	}
	return nil
}

// jobName is a job's name that is made of its program's.
func jobName(script string) string {
	name := strings.TrimSuffix(filepath.Base(script), filepath.Ext(script))
	name = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, name)
	if name = strings.TrimLeft(name, "._-"); name == "" {
		return "job"
	}
	return name
}

// question asks the user on the terminal.
type question struct {
	in  *bufio.Reader
	app *app
}

// draft asks for what no flag says.
func (q question) draft(c *cobra.Command, d *jobfile.Draft) error {
	nodes := ""
	share := d.Nodes == 0 && d.GPUs == 0 && d.Model == ""
	for _, one := range []struct {
		flag, what, usual string
		into              *string
	}{
		{"script", "What runs, a Python program", "train.py", &d.Script},
		{"name", "The job's name", "", &d.Job},
		{"nodes", "How many nodes", "1", &nodes},
		{"launcher", "Launcher: torchrun, fsdp, deepspeed, megatron, accelerate or srun", usualLauncher, &d.Launcher},
		{"checkpoints", "Directory of checkpoints, if there is one", "", &d.Checkpoints},
		{"time", "Time limit", usualTime, &d.Time},
	} {
		if c.Flags().Changed(one.flag) || one.flag == "nodes" && !share {
			continue
		}
		if one.flag == "name" {
			one.usual = jobName(d.Script)
		}
		if err := q.ask(one.what, one.usual, one.into); err != nil {
			return err
		}
	}
	if nodes == "" {
		return nil
	}
	var err error
	if d.Nodes, err = strconv.Atoi(nodes); err != nil || d.Nodes < 1 {
		return noNodes(nodes)
	}
	return nil
}

func noNodes(given string) error { return fault.Usage(fmt.Errorf("%q is no number of nodes", given)) }

// ask reads an answer; an empty one is the usual value.
func (q question) ask(what, usual string, into *string) error {
	if usual != "" {
		what += " [" + usual + "]"
	}
	fmt.Fprintf(q.app.err, "%s: ", page.Printable(what))
	line, err := q.in.ReadString('\n')
	if err != nil {
		return err
	}
	if *into = strings.TrimSpace(line); *into == "" {
		*into = usual
	}
	return nil
}

// writeDraft writes a job file, if it has no problems.
func (a *app) writeDraft(file string, d jobfile.Draft) error {
	text := d.Text()
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	j, problems := jobfile.Parse(file, filepath.Dir(path), []byte(text))
	if j != nil && d.Model == "" {
		_, more := j.One(&spec.Workload{}, "")
		problems.Append(more.All()...)
	}
	if err := a.showProblems(only(problems, diag.Error)); err != nil {
		return err
	}
	if err := whole.Write(path, []byte(text), 0o644); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no directory %s", filepath.Dir(path))
		}
		return err
	}
	return a.answer(initAnswer{File: file}, func() error {
		_, err := fmt.Fprintf(a.out, "%s is written; `muster job script %s` shows its batch script, `muster run %s` submits it\n",
			page.Printable(file), page.Printable(file), page.Printable(file))
		return err
	})
}
