package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

// checkOptions are the words of `muster check`.
type checkOptions struct {
	files []string
	// fix changes the files; dryRun only shows how.
	fix, dryRun bool
	// strict makes the exit code 3 for warnings, and for checks that could not look.
	strict bool
	// online asks AWS what only AWS knows.
	online bool
	// verbose lists each check that could not look.
	verbose bool
	// set are the values of --set.
	set []string
	// level is the schema level by which cluster files are read, 0 the newest or
	// the file's own.
	level spec.Level
}

const checkHelp = `Check reads cluster files as AWS ParallelCluster will, and says all that is wrong
with them, each problem with its line and what to do about it. The muster.yaml
beside a cluster file is checked with it. A file of the name muster.yaml is read as
that; "-" is a cluster file on the standard input. A pattern in quotes, such as
'clusters/**/*.yaml', stands for the files that it matches.

A file that begins with #! is a batch script. It is read, not run, and checked
against the cluster file before it, or --cluster, which is a file or a name, or else
the cluster on this machine that MUSTER_CLUSTER names. A job file is checked, too,
and the scripts that it becomes on that cluster.

With --fix, what has one right answer is changed in the files: misspelt keys,
sections at a wrong place, values in a wrong form. Comments and layout stay. It
shows what it changed; --dry-run only shows it. The standard input's fixed text
goes to the standard output.

A cluster file with ${NAME} is a template. --set NAME=VALUE, or else the
environment, fills it for the check; the file stays as it is.

What only AWS knows is not looked up and never counts as good. It is said in one
line; -v shows it all. --online asks AWS, with the credentials of the environment.

The output is text, json, sarif (for code scanning) or github (for the log of a
GitHub workflow). It ends with exit code 1 if a file has errors. With --strict, it
ends with 3 if there are warnings or things that were not looked up.`

func (a *app) check() *cobra.Command {
	var o checkOptions
	var level string
	var schemaOnly bool
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find problems in cluster files and batch scripts, and fix them",
		Long:  checkHelp,
		Example: "  muster check cluster.yaml\n  muster check train.sbatch --cluster cluster.yaml\n  muster check --fix --dry-run cluster.yaml\n" +
			"  muster check 'clusters/**/*.yaml' -o sarif > muster.sarif\n  cat cluster.yaml | muster check --fix - > fixed.yaml\n" +
			"  muster check --print-schema > cluster-schema.json\n  muster check cluster.yaml -o json | jq '.files[].problems'\n  muster check --online cluster.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !schemaOnly {
				return errors.New("no file is given")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			if level != "" {
				if o.level, err = spec.ParseLevel(level); err != nil {
					return fault.Usage(err)
				}
			}
			if schemaOnly {
				_, err := a.out.Write(spec.JSONSchema(o.level))
				return err
			}
			o.files = args
			return a.checkFiles(c.Context(), o)
		},
	}
	c.Annotations = map[string]string{formatsKey: "sarif github"}
	flags := c.Flags()
	flags.BoolVar(&o.fix, "fix", false, "change what has one right answer")
	flags.BoolVar(&o.dryRun, "dry-run", false, "with --fix: show the changes, and make none")
	flags.BoolVar(&o.strict, "strict", false, "exit code 3 if there are warnings or things that were not looked up")
	flags.BoolVar(&o.online, "online", false, "ask AWS what only AWS knows")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show each thing that was not looked up")
	flags.StringVar(&level, "schema", "", "read the files as this `LEVEL` of ParallelCluster does: 3.11 to 3.16")
	setFlag(flags, &o.set)
	flags.BoolVar(&schemaOnly, "print-schema", false, "print the JSON Schema of cluster files, for editors")
	return c
}

func (a *app) checkFiles(ctx context.Context, o checkOptions) error {
	if o.dryRun && !o.fix {
		return fault.Usage(errors.New("--dry-run goes with --fix"))
	}
	if i := slices.Index(o.files, stdin); i >= 0 && slices.Contains(o.files[i+1:], stdin) {
		return fault.Usage(errors.New("the standard input can be read only once"))
	}
	variables, err := variables(o.set)
	switch {
	case err != nil:
		return err
	case o.fix && len(o.set) > 0:
		return fault.Usage(errors.New("--fix changes the file as it is, without values: --set does not go with it"))
	case o.fix:
		variables = &spec.Variables{}
	}
	c := checker{options: o, variables: variables}
	if o.online {
		ask := online{app: a, accounts: map[string]*api.Account{}}
		c.look = func(f *spec.File, path string) error { return ask.judge(ctx, f, a.named(path), beside(f, path)) }
	}
	err = heed.Call(ctx, func() error { return a.checkAll(ctx, &c) })
	if ctx.Err() != nil {
		c.fixes.Lock() // a fix that was begun ends, and none begins any more
	}
	if err != nil {
		return err
	}
	if err := a.writeChecked(&c); err != nil {
		return err
	}
	switch {
	case c.problems.HasErrors():
		return fault.Exit(fault.ExitProblem)
	case o.strict && c.problems.Count(diag.Warning)+c.problems.Count(diag.Blind) > 0:
		return fault.Exit(fault.ExitLook)
	}
	return nil
}

// checkAll reads and checks the files. It can wait for ever.
func (a *app) checkAll(ctx context.Context, c *checker) error {
	if err := a.against(ctx, c); err != nil {
		return err
	}
	for _, path := range c.options.files {
		if path == stdin && c.options.fix && !c.options.dryRun && a.output != "text" {
			return fault.Usage(errors.New("--fix writes the fixed standard input to the standard output, which leaves no room for -o " + a.output))
		}
		if err := errors.Join(c.checkArgument(path, a.in), c.failed); err != nil {
			return err
		}
	}
	if names := c.variables.Unused(); len(names) > 0 {
		return fault.Usage(fmt.Errorf("--set %s: no cluster file has ${%s}", names[0], names[0]))
	}
	return nil
}

// writeChecked writes the answer in its format.
func (a *app) writeChecked(c *checker) error {
	switch a.output {
	case "json":
		return a.writeJSON(checkAnswer{OK: !c.problems.HasErrors(), Files: c.files})
	case "sarif":
		return a.writeSARIF(c)
	case "github":
		if err := diag.WriteGitHub(a.out, &c.problems); err != nil {
			return err
		}
		return c.writeSums(a.err)
	default:
		return a.writeCheckedText(c)
	}
}

// formatsKey marks a command that has more formats of output than text and json.
const formatsKey = "formats"

// noAnswer says of a command why it has no answer that could be JSON.
func noAnswer(c *cobra.Command) string {
	switch words := strings.Fields(c.CommandPath()); strings.Join(words[1:], " ") {
	case "exec", "container run", "image forward":
		return "it passes on what its command writes"
	case "shell", "ssh":
		return "it is for people"
	case "job logs":
		return "it passes on what the job writes; `muster job show ID -o json` has the file's path"
	case "verify page":
		return "it writes a page, or JUnit's XML"
	case "help":
		return "it is for people"
	}
	if c.HasParent() && c.Parent().Name() == "completion" {
		return "it writes a program for a shell"
	}
	return ""
}

// checkFormat refuses a format of output that a command does not have.
func checkFormat(c *cobra.Command, output string) error {
	if why := noAnswer(c); why != "" && output != "text" {
		return fault.Usage(fmt.Errorf("`%s` has no answer of its own: %s; leave -o %s out", c.CommandPath(), why, output))
	}
	have := formats(c)
	for _, f := range have {
		if f == output {
			return nil
		}
	}
	return fault.Usage(fmt.Errorf("no output format %q: use %s", output, orList(have)))
}
