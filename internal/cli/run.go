package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) run() *cobra.Command {
	var options []string
	var noFollow, force bool
	var wishes jobWishes
	c := &cobra.Command{
		Use:   "run FILE [ARG...]",
		Short: "Submit a batch script or a job file and follow it to its end",
		Long: `Run submits a batch script from the current directory, as sbatch does, and follows
it: what the job writes comes to stdout, what happens to it to stderr.

A job file (see "muster job init") becomes a batch script first, which stays beside
the job's log; "muster job script" shows it.

The script is checked first, as "muster check" does it, against the cluster that
runs. An error stops it, unless --force is given; warnings are shown, a line each.

Run ends when the job has ended, with exit code 0 if it completed and with 1 if it
did not. A job that loses a node is followed through its next run. Ctrl-C stops the
following; the job goes on. An array is submitted and not followed: exit code 0
then says nothing of its tasks.

What stands behind FILE are arguments of the script. "-" is a script on the
standard input.`,
		Example: "  muster run train.sbatch\n  muster run job.yaml\n" +
			"  muster run --sbatch=--nodes=4 train.sbatch\n" +
			"  muster run --sbatch=--export=ALL,STEPS=100 train.sbatch\n" +
			"  muster run --no-follow train.sbatch --epochs 3",
		Args: cobra.MinimumNArgs(1),
		RunE: a.onHeadWithScript(func(c *cobra.Command, args []string, s slurm.Client) error {
			script, err := scriptArgs(c, args)
			if err != nil {
				return err
			}
			script.flags, script.force = batch.Flags(options), force
			jobs, err := a.submit(c.Context(), s, script, wishes)
			if err != nil {
				return err
			}
			if noFollow {
				return a.submitted(jobs[0])
			}
			return a.followRun(c.Context(), s, jobs[0].ID)
		}),
	}
	c.Flags().BoolVar(&noFollow, "no-follow", false, "submit it and print the job's ID")
	modelFlag(c, &wishes.model)
	secretsOnStdin(c, &wishes.secretsOnStdin)
	submitFlags(c, &options, &force)
	return c
}

// onHeadWithScript is onHead for commands whose first argument is a batch script:
// a cluster on this machine sees its folder as it sees the working directory, and one
// on AWS gets a copy of the script.
func (a *app) onHeadWithScript(run func(c *cobra.Command, args []string, s slurm.Client) error) func(*cobra.Command, []string) error {
	onHead := a.onHead(run)
	return func(c *cobra.Command, args []string) error {
		if _, err := scriptArgs(c, args); err != nil { // it may say which cluster
			return err
		}
		if inside() {
			return onHead(c, args)
		}
		w, err := a.find("")
		if err != nil {
			return err
		}
		n := w.Near()
		if n == nil {
			return a.carry(c.Context(), w, args)
		}
		if err := n.Bring(c.Context(), args[0]); err != nil {
			return err
		}
		if isJobFileAt(args[0]) { // what it needs is looked for on the head node
			return a.jobFileOn(c.Context(), w, args)
		}
		if err := a.checkNeeds(c, args[0]); err != nil {
			return err
		}
		return onHead(c, args)
	}
}

// jobFileOn runs our command line again for a job file, with what only this side can read.
func (a *app) jobFileOn(ctx context.Context, w where, args []string) error {
	data, problems := readScript(args[0])
	if err := a.showProblems(problems); err != nil {
		return err
	}
	secrets, err := a.secretsOutside(ctx, w, args[0], data)
	if err != nil {
		return err
	}
	if secrets == nil {
		return a.againOn(ctx, w)
	}
	return a.withSecrets(ctx, w, args, secrets)
}

// submitFlags are those of commands that submit scripts: the way to sbatch's
// options, and past the check.
func submitFlags(c *cobra.Command, options *[]string, force *bool) {
	c.Flags().BoolVar(force, "force", false, "submit it in spite of errors")
	repeat(c.Flags(), options, "sbatch", "an `OPTION` for sbatch, such as --nodes=4; may be repeated")
	c.Flags().String(calledFlag, "", "the script's `NAME` for its user")
	_ = c.Flags().MarkHidden(calledFlag) // it fails only for a flag that is not there
	c.Flags().SetInterspersed(false)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.Usage(fmt.Errorf("%w; options of sbatch go as in --sbatch=--nodes=4, see `%s --help`", err, c.CommandPath()))
	})
}

// calledFlag is how a script that was copied from elsewhere is called there.
const calledFlag = "called"

// batchScript is a batch script with its arguments and sbatch's options.
type batchScript struct {
	file  string
	args  []string
	flags []string
	// called is its name for people.
	called string
	// force submits it in spite of errors.
	force bool
	// unset are variables that the job does not inherit.
	unset []string
	// unseen says that no muster outside has looked for what it needs.
	unseen bool
}

// scriptArgs reads FILE and the script's arguments, among which our own options
// would be lost.
func scriptArgs(c *cobra.Command, args []string) (batchScript, error) {
	s := batchScript{file: args[0], args: args[1:], called: args[0], unseen: !runAgain()}
	if name, err := c.Flags().GetString(calledFlag); err == nil && name != "" {
		s.called = name
	}
	if len(s.args) > 0 && s.args[0] == "--" {
		s.args = s.args[1:]
		return s, nil
	}
	for _, arg := range s.args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		ours := strings.HasPrefix(arg, "--") && c.Flag(name) != nil ||
			len(arg) == 2 && arg[0] == '-' && c.Flags().ShorthandLookup(arg[1:]) != nil
		if ours {
			return s, fault.Usage(fmt.Errorf("%s stands behind %s, where the script's arguments are; put it before %s, or -- before the arguments",
				arg, s.file, s.file))

		}
	}
	return s, nil
}

// submit hands a batch script, or those that a job file becomes, to Slurm, unless a check
// finds errors.
func (a *app) submit(ctx context.Context, s slurm.Client, b batchScript, w jobWishes) ([]submittedJob, error) {
	if fromStdin(b.file) {
		file, done, err := a.keepStdin()
		if err != nil {
			return nil, err
		}
		defer done()
		b.file, b.called, b.unseen = file, stdinName, true
	}
	data, problems := readScript(b.file)
	if err := a.showProblems(problems); err != nil {
		return nil, err
	}
	if isJobFile(b.called, data) {
		return a.submitJobs(ctx, s, b, data, w)
	}
	if w.asks() {
		return nil, fault.Usage(fmt.Errorf("%s is a batch script; --model and --all are for job files", b.called))
	}
	if err := a.showProblems(checkSize(ctx, s, b, data)); err != nil {
		return nil, err
	}
	facts, err := a.factsFor(ctx, s, b, data)
	if err != nil {
		return nil, err
	}
	if err := a.showChecked(batch.Check(b.called, data, b.flags, facts), b.force); err != nil {
		return nil, err
	}
	id, err := a.toSlurm(ctx, s, b, len(data))
	return []submittedJob{{ID: id}}, err
}

// toSlurm submits a script of a size that was checked.
func (a *app) toSlurm(ctx context.Context, s slurm.Client, b batchScript, size int) (int, error) {
	id, err := s.Submit(ctx, slurm.SubmitOptions{Script: scriptPath(b.file), Args: b.args, Flags: b.flags, Unset: b.unset})
	if refused, ok := errors.AsType[*slurm.ProgramError](err); ok {
		return 0, fmt.Errorf("sbatch does not take %s: %s", b.called, a.wayOut(refusal(refused))+sizeHint(ctx, s, refusal(refused), size)+accountHint(ctx, s, refusal(refused)))
	}
	return id, err
}

// scriptPath keeps a file's name from being taken for an option of sbatch's.
func scriptPath(file string) string {
	if strings.HasPrefix(file, "-") {
		return "./" + file
	}
	return file
}

// refusal is what sbatch has to say, without what every line begins with.
func refusal(err *slurm.ProgramError) string {
	var said []string
	for line := range strings.Lines(err.Stderr) {
		line = strings.TrimSpace(line)
		line = strings.TrimPrefix(line, "sbatch: ")
		line = strings.TrimPrefix(line, "error: ")
		line = strings.TrimPrefix(line, "Batch job submission failed: ")
		if line != "" {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return err.Err.Error()
	}
	return strings.Join(said, "; ")
}

// whatHeadSees says where the head node looks for files.
func whatHeadSees() string {
	if onCloudHead() {
		return "paths begin in the home directory on the head node, which sees the cluster's file systems"
	}
	return "the head node sees the current directory and what is below it, and the cluster's file systems"
}

// scriptLimit is more than any Slurm takes, in bytes. checkSize knows the cluster's own limit.
const scriptLimit = 16 << 20

// readScript reads a file that is to be a batch script.
func readScript(file string) ([]byte, *diag.List) {
	problems := &diag.List{}
	problem := func(code, format string, args ...any) *diag.Diagnostic {
		return problems.Errorf(code, "", format, args...).At(diag.Place{File: file})
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem("script/missing", "there is no such file").WithHint("%s", whatHeadSees())
	case err != nil:
		problem("script/missing", "%v", errors.Unwrap(err))
	case info.IsDir():
		problem("script/missing", "this is a directory, not a batch script")
	case !info.Mode().IsRegular():
		problem("script/missing", "this is no ordinary file")
	case info.Size() > scriptLimit:
		problem("script/size", "the file has %s, too much for a batch script", count.Bytes(info.Size()))
	}
	if problems.HasErrors() {
		return nil, problems
	}
	data, err := os.ReadFile(file)
	if err != nil {
		problem("script/missing", "it cannot be read: %v", errors.Unwrap(err))
	}
	return data, problems
}

// submitted answers with a job's ID.
func (a *app) submitted(j submittedJob) error {
	return a.answer(submitAnswer{ID: j.ID, Script: j.Script}, func() error {
		_, err := fmt.Fprintln(a.out, j.ID)
		return err
	})
}

// command is a command line of ours for the user to type, about the same
// cluster.
func (a *app) command(format string, args ...any) string {
	line := "muster "
	if a.cluster != "" {
		line += "--cluster " + a.cluster + " "
	}
	return "`" + line + fmt.Sprintf(format, args...) + "`"
}
