// Package slurm speaks Slurm's languages: the configuration files that its
// daemons read, and what its programs print, from version 22.05 to 25.11.
//
// What is read is never trusted to be whole: values may have spaces, line
// breaks and bytes that are no UTF-8 in them, words of a later version are kept
// as they are, and a row that cannot be read is reported and hides no other.
// What to do about a node or a job is decided elsewhere.
package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runner runs a program and returns what it printed. A program that fails is a
// *ProgramError, so that its cause can be told.
type runner interface {
	Run(ctx context.Context, name string, args ...string) (stdout []byte, err error)
}

var _ runner = Exec{}

// Client talks to a cluster by way of Slurm's own programs. It holds no state
// and can be used by many goroutines if its Runner can.
//
// A method's error wraps ErrUnreachable where the cluster did not answer: then
// the same call may be made again.
type Client struct {
	Runner runner
	// Location is the time zone of where the programs run; nil is local.
	Location *time.Location
}

// Ping asks whether a slurmctld answers.
func (c Client) Ping(ctx context.Context) error {
	out, err := c.Runner.Run(ctx, "scontrol", "ping")
	for line := range strings.Lines(string(out)) {
		if strings.HasSuffix(strings.TrimSpace(line), " is UP") {
			return nil
		}
	}
	if err != nil && len(out) == 0 {
		return err
	}
	return fmt.Errorf("scontrol ping: %w", ErrUnreachable)
}

// Reconfigure has slurmctld and all nodes read their configuration again. Nodes
// register when they do.
func (c Client) Reconfigure(ctx context.Context) error {
	_, err := c.Runner.Run(ctx, "scontrol", "reconfigure")
	return err
}

// Shutdown ends slurmctld, and nothing else.
func (c Client) Shutdown(ctx context.Context) error {
	_, err := c.Runner.Run(ctx, "scontrol", "shutdown", "slurmctld")
	return err
}

// Nodes are all nodes. Those that are powered down are among them only if
// slurm.conf has PrivateData=cloud. It is the whole picture or an error.
func (c Client) Nodes(ctx context.Context) ([]Node, error) {
	out, err := c.Runner.Run(ctx, "scontrol", "--oneliner", "--all", "--detail", "show", "node")
	if err != nil {
		return nil, err
	}
	nodes, problems := parseNodes(out, c.Location)
	if len(problems) > 0 {
		return nil, fmt.Errorf("scontrol show node: %w", problems[0])
	}
	return nodes, nil
}

// Partitions are all partitions, hidden ones included. It is the whole picture
// or an error.
func (c Client) Partitions(ctx context.Context) ([]Partition, error) {
	out, err := c.show(ctx, "partition")
	if err != nil {
		return nil, err
	}
	partitions, problems := parsePartitions(out)
	if len(problems) > 0 {
		return nil, fmt.Errorf("scontrol show partition: %w", problems[0])
	}
	return partitions, nil
}

// Jobs are all jobs that slurmctld knows. Rows that cannot be read are problems: one
// user's odd job does not hide those of others.
func (c Client) Jobs(ctx context.Context) ([]Job, []Problem, error) {
	out, err := c.show(ctx, "job")
	if err != nil {
		return nil, nil, err
	}
	jobs, problems := ParseJobs(out, c.Location)
	return jobs, problems, nil
}

// Job is one job, or ErrNoJob. Of an array, it is the part that has the
// array's own number.
func (c Client) Job(ctx context.Context, id int) (Job, error) {
	out, err := c.show(ctx, "job", strconv.Itoa(id))
	if err != nil {
		return Job{}, err
	}
	jobs, problems := ParseJobs(out, c.Location)
	if i := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == id }); i >= 0 {
		return jobs[i], nil
	}
	if len(problems) > 0 {
		return Job{}, fmt.Errorf("scontrol show job %d: %w", id, problems[0])
	}
	return Job{}, fmt.Errorf("job %d: %w", id, ErrNoJob)
}

func (c Client) show(ctx context.Context, what string, more ...string) ([]byte, error) {
	args := append([]string{"--oneliner", "--all", "show", what}, more...)
	return c.Runner.Run(ctx, "scontrol", args...)
}

// Window says which finished jobs History is to return.
type Window struct {
	// Since and Until bound the time in which a job existed; zero is open. With
	// neither, and no Jobs, sacct takes the time since midnight.
	Since, Until time.Time
	// Jobs are the jobs' numbers; none is all.
	Jobs []int
}

// History are the runs of jobs in the accounting database, oldest first, each
// requeued run a row of its own.
func (c Client) History(ctx context.Context, w Window) ([]Run, []Problem, error) {
	delimiter := newDelimiter()
	args := append(historyArgs(delimiter, historyFields), "--allusers", "--duplicates", "--allocations")
	out, err := c.Runner.Run(ctx, "sacct", append(args, w.args(c.Location)...)...)
	if err != nil {
		return nil, nil, err
	}
	runs, problems := ParseHistory(out, delimiter, c.Location)
	return runs, problems, nil
}

// historyArgs have sacct print columns in a way that can be read.
func historyArgs(delimiter, fields string) []string {
	return []string{"--parsable2", "--delimiter=" + delimiter, "--format=" + fields}
}

// args are a window as sacct's options.
func (w Window) args(loc *time.Location) (args []string) {
	loc = orLocal(loc)
	if !w.Since.IsZero() {
		args = append(args, "--starttime="+w.Since.In(loc).Format(timeLayout))
	}
	if !w.Until.IsZero() {
		args = append(args, "--endtime="+w.Until.In(loc).Format(timeLayout))
	}
	if len(w.Jobs) > 0 {
		ids := make([]string, len(w.Jobs))
		for i, id := range w.Jobs {
			ids[i] = strconv.Itoa(id)
		}
		args = append(args, "--jobs="+strings.Join(ids, ","))
	}
	return args
}

// maxListLength keeps one scontrol's arguments well below the kernel's limit
// for one argument (128 KiB).
const maxListLength = 64 << 10

// UpdateNodes gives nodes a state, in Slurm's word, and a reason, which may be
// empty. It is one call for all nodes unless their list is very long; if a call
// fails, the nodes of earlier calls have changed. No names is no call.
func (c Client) UpdateNodes(ctx context.Context, names []string, state, reason string) error {
	if len(names) == 0 {
		return nil
	}
	list := Compress(names)
	if len(list) > maxListLength && len(names) > 1 {
		names = slices.Sorted(slices.Values(names))
		half := len(names) / 2
		if err := c.UpdateNodes(ctx, names[:half], state, reason); err != nil {
			return err
		}
		return c.UpdateNodes(ctx, names[half:], state, reason)
	}
	args := []string{"update", "NodeName=" + list, "State=" + state}
	if reason != "" {
		args = append(args, "Reason="+oneLine(reason))
	}
	_, err := c.Runner.Run(ctx, "scontrol", args...)
	return err
}

// oneLine makes a text fit for a reason or comment of Slurm's.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, `"`, "'")), " ")
}

// Requeue ends a running batch job and puts it back into the queue. A pending
// job is left as it is.
func (c Client) Requeue(ctx context.Context, job string) error {
	_, err := c.Runner.Run(ctx, "scontrol", "requeue", job)
	if err != nil && strings.Contains(lastStderr(err), "is pending execution") {
		return nil
	}
	return err
}

// lastStderr is the last line of what the program behind err said.
func lastStderr(err error) string {
	if e, ok := errors.AsType[*ProgramError](err); ok {
		return lastLine(e.Stderr)
	}
	return ""
}

// againAfter is how long a job waits that was queued again: a node refuses a run whose credential is of the second in which that of
// the run before was revoked ("Job credential revoked").
const againAfter = 3

// StartSoon lets a job that was queued again start in some seconds, and not in two minutes.
func (c Client) StartSoon(ctx context.Context, job string) error {
	_, err := c.Runner.Run(ctx, "scontrol", "update", "jobid="+job, fmt.Sprintf("starttime=now+%d", againAfter))
	return err
}

// Cancel ends a job for good: job is its label, and an array's number means all of its tasks. A job that has ended is no error, and scancel
// does not complain of one that it does not know.
func (c Client) Cancel(ctx context.Context, job string) error {
	_, err := c.Runner.Run(ctx, "scancel", job)
	if errors.Is(err, errJobEnded) {
		return nil
	}
	return err
}

// CancelNamed ends all jobs of the caller's that have a name, if there are any.
func (c Client) CancelNamed(ctx context.Context, name string) error {
	_, err := c.Runner.Run(ctx, "scancel", "--quiet", "--name="+name)
	return err
}

// SubmitOptions say what to submit.
type SubmitOptions struct {
	// Script is the batch script's path. Args are its arguments.
	Script string
	Args   []string
	// Flags are options for sbatch, in front of the script's own.
	Flags []string
	// Dir is the job's working directory, "" for the caller's.
	Dir string
	// Env is added to the environment that the job inherits: "NAME=value".
	Env []string
	// Unset are variables that the job does not inherit.
	Unset []string
}

// Submit hands a batch script to Slurm and returns the job's number. If it
// fails with ErrUnreachable, the job may have been taken nevertheless.
func (c Client) Submit(ctx context.Context, o SubmitOptions) (int, error) {
	command := []string{"sbatch", "--parsable"}
	if len(o.Env)+len(o.Unset) > 0 {
		env := []string{"env"}
		for _, name := range o.Unset {
			env = append(env, "--unset="+name)
		}
		command = slices.Concat(env, o.Env, command)
	}
	if o.Dir != "" {
		command = append(command, "--chdir="+o.Dir)
	}
	command = slices.Concat(command, o.Flags, []string{o.Script}, o.Args)
	out, err := c.Runner.Run(ctx, command[0], command[1:]...)
	if err != nil {
		return 0, err
	}
	id, _, _ := strings.Cut(lastLine(string(out)), ";")
	n, err := strconv.Atoi(id)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("sbatch said %q instead of a job's number", shorten(lastLine(string(out))))
	}
	return n, nil
}
