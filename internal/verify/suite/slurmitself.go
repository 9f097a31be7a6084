//go:build linux

package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/verify"
)

// requeued is a job that ends well if it was queued again, and else waits for that.
const requeued = `[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] && exit 0; exec sleep 600`

// errand submits a job, says its number, and cancels it when nobody holds the errand's input any more: it waits and runs no longer than
// this process, however that ends.
const errand = `id=$(sbatch --parsable "$@") || exit; echo "$id"; cat >/dev/null; scancel --quiet "${id%%;*}"`

// slurmItself sees that Slurm queues a job again, keeps its books, and starts and ends nodes.
func (r *run) slurmItself(ctx context.Context, s *verify.Suite) error {
	r.give(context.WithoutCancel(ctx)) // the nodes are the test's own now
	id, results, err := r.requeue(ctx)
	if id > 0 {
		s.Jobs = append(s.Jobs, id)
	}
	s.Results = append(s.Results, results...)
	if err != nil {
		return err
	}
	s.Results = append(s.Results, r.books(ctx, id), r.power(ctx))
	return nil
}

// requeue has a job of one node queued again while it runs.
func (r *run) requeue(ctx context.Context) (id int, results []verify.Result, err error) {
	id, end, err := r.submit(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer end()
	began := time.Now()
	j, err := r.until(ctx, id, func(j slurm.Job) bool { return j.State == "RUNNING" || j.Ended() })
	if err != nil {
		return id, nil, fmt.Errorf("wait until job %d runs: %w", id, err)
	}
	results = append(results, measured("batch-job", j.NodeList, "starts", "started", time.Since(began)))
	began = time.Now()
	if err := r.Slurm.Requeue(ctx, strconv.Itoa(id)); err != nil {
		return id, results, fmt.Errorf("have job %d queued again: %w", id, err)
	}
	if err := r.hurry(ctx, id); err != nil {
		return id, results, err
	}
	j, err = r.until(ctx, id, func(j slurm.Job) bool { return j.Ended() && j.State != "REQUEUED" })
	if err != nil {
		return id, results, fmt.Errorf("wait until job %d has run again: %w", id, err)
	}
	again := measured("requeue", j.NodeList, "runs again after scontrol requeue", "ran again", time.Since(began))
	if j.State != "COMPLETED" {
		again.Verdict, again.Found, again.Why = verify.Fail, j.State, "its second run did not know that it was one, or failed"
	}
	return id, append(results, again), nil
}

// measured is a pass that took a time.
func measured(check, on, want, found string, took time.Duration) verify.Result {
	return verify.Result{Check: check, On: on, Verdict: verify.Pass, Want: want, Found: fmt.Sprintf("%s, %.1f s", found, took.Seconds()),
		Value: &verify.Value{Number: took.Seconds(), Unit: "s", Lower: true}}
}

// submit submits the job. It is cancelled, if it has not ended, with end.
func (r *run) submit(ctx context.Context) (id int, end func(), err error) {
	flags := []string{"--job-name=" + verify.JobName, "--requeue", "--nodes=1", "--ntasks=1", "--time=10", "--output=/dev/null", "--chdir=/", "--export=NONE", "--wrap=" + requeued}
	if r.Partition != "" {
		flags = append(flags, "--partition="+r.Partition)
	}
	if r.NodeList != "" {
		if names, err := slurm.Expand(r.NodeList); err == nil && len(names) > 0 {
			flags = append(flags, "--nodelist="+names[0])
		}
	}
	var said tail.Writer
	cmd := exec.Command("sh", append([]string{"-c", errand, "sh"}, flags...)...)
	cmd.Env, cmd.Stderr = append(withoutSlurm(os.Environ()), "LC_ALL=C"), &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	input, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("submit a job: %w", err)
	}
	lines, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		line, _ := bufio.NewReader(output).ReadString('\n')
		lines <- line
		_ = cmd.Wait() // the job may have ended
	}()
	select {
	case line := <-lines:
		number, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		end = func() { _ = input.Close(); <-ended }
		if id, err = strconv.Atoi(number); err != nil {
			end()
			return 0, nil, fmt.Errorf("submit a job: %s", cleaned(said.String()))
		}
		return id, end, nil
	case <-ctx.Done(): // what sbatch has submitted by its end is cancelled then
		_ = input.Close()
		return 0, nil, context.Cause(ctx)
	}
}

// hurry takes away the two minutes that Slurm has a job wait that was queued again. A user may do that for his own job.
func (r *run) hurry(ctx context.Context, id int) error {
	if _, err := r.until(ctx, id, func(j slurm.Job) bool { return j.State == "PENDING" || j.Ended() }); err != nil {
		return err
	}
	err := r.Slurm.StartSoon(ctx, strconv.Itoa(id))
	if err != nil && ctx.Err() == nil {
		r.Tell("Slurm lets the job wait: " + err.Error())
		return nil
	}
	return err
}

// look is how often a job is looked at.
const look = 300 * time.Millisecond

// until waits for what a job is to be.
func (r *run) until(ctx context.Context, id int, is func(slurm.Job) bool) (slurm.Job, error) {
	for {
		j, err := r.Slurm.Job(ctx, id)
		if err != nil && !errors.Is(err, slurm.ErrUnreachable) {
			return j, err
		}
		if err == nil && is(j) {
			return j, nil
		}
		select {
		case <-ctx.Done():
			return j, context.Cause(ctx)
		case <-time.After(look):
		}
	}
}

// booksWait is how long slurmdbd may take to know of an end. slurmctld tells it at once.
const booksWait = 30 * time.Second

// books sees that the accounting has both runs.
func (r *run) books(whole context.Context, id int) verify.Result {
	ctx, cancel := context.WithTimeoutCause(whole, booksWait, fmt.Errorf("not within %s", booksWait))
	defer cancel()
	result := verify.Result{Check: "job-accounting", Verdict: verify.Pass, Want: "sacct has both runs of job " + strconv.Itoa(id)}
	for {
		runs, _, err := r.Slurm.History(ctx, slurm.Ever(id))
		var states []string
		for _, run := range runs {
			states = append(states, run.State)
		}
		if err == nil && len(states) == 2 && slices.Contains(states, "REQUEUED") && slices.Contains(states, "COMPLETED") {
			result.Found = "it has them: REQUEUED and COMPLETED"
			return result
		}
		if ctx.Err() != nil {
			result.Verdict, result.Found, result.Why = verify.Fail, fmt.Sprint(states), "what Slurm has noted is not all that was"
			if whole.Err() != nil {
				err = context.Cause(whole)
			}
			if err != nil {
				result.Verdict, result.Found, result.Why = verify.Blind, "", err.Error()
			}
			return result
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// power has one of the nodes powered down that came up for us. Nodes that were up before are others' to use.
func (r *run) power(ctx context.Context) verify.Result {
	result := verify.Result{Check: "power-down", Want: "a node without a job powers down when it is told to"}
	if len(r.woken) == 0 {
		result.Verdict, result.Why = verify.Skip, "none of these nodes came up for this: they were up, or this cluster powers none down"
		return result
	}
	node := r.woken[len(r.woken)-1]
	result.On = node
	began := time.Now()
	if err := r.Slurm.UpdateNodes(ctx, []string{node}, "POWER_DOWN", ""); err != nil {
		result.Verdict, result.Why = verify.Blind, err.Error()
		result.Hint = "operators of Slurm may power nodes down: run it as root or as SlurmUser"
		return result
	}
	return r.down(ctx, result, began)
}

// downWait is how long a node may take to power down: what ends it is given SuspendTimeout, and slurmctld looks every minute.
const downWait = 4 * time.Minute

// down waits until a node is powered down.
func (r *run) down(whole context.Context, result verify.Result, began time.Time) verify.Result {
	ctx, cancel := context.WithTimeoutCause(whole, downWait, fmt.Errorf("not within %s", downWait))
	defer cancel()
	for {
		nodes, err := r.Slurm.Nodes(ctx)
		i := slices.IndexFunc(nodes, func(n slurm.Node) bool { return n.Name == result.On })
		switch {
		case err == nil && i >= 0 && nodes[i].State.Flags&slurm.FlagPoweredDown != 0:
			return measured(result.Check, result.On, result.Want, "powered down", time.Since(began))
		case whole.Err() != nil:
			result.Verdict, result.Why = verify.Blind, context.Cause(whole).Error()
			return result
		case ctx.Err() != nil && err != nil:
			result.Verdict, result.Why = verify.Blind, err.Error()
			return result
		case ctx.Err() != nil && i >= 0:
			result.Verdict, result.Found = verify.Fail, nodes[i].State.String()
			result.Why, result.Hint = "it goes on, and costs", "`muster events` and slurmctld's log say why"
			return result
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}
