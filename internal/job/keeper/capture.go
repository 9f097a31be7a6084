package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/probe"
	"github.com/muster-hpc/muster/internal/job/ras"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/tail"
)

// scribe writes files of users.
type scribe interface {
	Put(ctx context.Context, u errand.User, f errand.File) error
	Extend(ctx context.Context, u errand.User, e errand.Extension) error
}

// probeWait is how long nodes may take to tell what the job's processes do. One that is not
// heard by then is no better than one that stands still.
const probeWait = 45 * time.Second

// Prober asks the nodes of jobs, by a step of the job's user's: become is the start of a command
// line that runs as a user on the head node, muster this program's path on the nodes.
func Prober(become func(errand.User) []string, muster string) func(context.Context, slurm.Job) ([]probe.Report, error) {
	return func(ctx context.Context, j slurm.Job) ([]probe.Report, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, probeWait, errors.New("the nodes do not answer"))
		defer cancel()
		n := strconv.Itoa(max(1, len(expand(j.NodeList))))
		line := append(become(errand.User{UID: j.UID, GID: j.GID}),
			"srun", "--jobid="+strconv.Itoa(j.ID), "--overlap", "--nodes="+n, "--ntasks="+n, "--ntasks-per-node=1", "--cpus-per-task=1",
			"--mem=0", "--gres=none", "--mpi=none", "--cpu-bind=none", "--input=none", "--label", "--chdir=/", "--job-name=muster-probe", "--kill-on-bad-exit=0",
			muster, "agent", "probe", strconv.Itoa(j.ID))
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, "/", time.Second
		out, said := head{most: probeBytes}, tail.Writer{}
		cmd.Stdout, cmd.Stderr = &out, &said
		err := cmd.Run()
		reports := probe.Read(out.text)
		if len(reports) == 0 && err == nil {
			return nil, errors.New("ask the job's nodes: none of them told anything")
		}
		if len(reports) == 0 {
			return nil, slurm.NewProgramError(ctx, "ask the job's nodes", said.String(), err)
		}
		return reports, nil
	}
}

// probeBytes is how much nodes may tell: what they say passes processes of the user's, who can write
// without end.
const probeBytes = 16 << 20

// head keeps the beginning of what is written.
type head struct {
	text []byte
	most int
}

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), h.most-len(h.text))]...)
	return len(p), nil
}

// finding is what looks at a job show, the last one with all that its nodes told.
type finding struct {
	told
	verdict stillness
	why     string
}

// told is what a job's nodes told in a look.
type told struct {
	look    look
	reports []probe.Report
}

// asksAtOnce is how many jobs' nodes are asked at once: each is a step of Slurm's.
const asksAtOnce = 4

// looked is a look at a job's processes, nil if there is none yet. It takes some seconds, and more where nodes do not answer, so
// that rounds do not wait for it.
func (k *Keeper) looked(ctx context.Context, r *record, now time.Time) *told {
	if r.asking == nil && !now.Before(r.nextLook) {
		r.asking = k.ask(ctx, r.job, r.Run.Nodes, now)
	}
	select {
	case t := <-r.asking:
		r.asking = nil
		return &t
	default:
		return nil
	}
}

// forgetLooks is for a job that is silent no more.
func (r *record) forgetLooks() { r.looks, r.nextLook, r.asking = nil, time.Time{}, nil }

// ask begins a look, and returns where its result comes, nil if too many are under way.
func (k *Keeper) ask(ctx context.Context, j slurm.Job, nodes string, now time.Time) <-chan told {
	to := make(chan told, 1)
	if k.Probe == nil {
		to <- told{look: look{at: now, blind: "nobody can look at its processes"}}
		return to
	}
	select {
	case k.free <- struct{}{}:
	default:
		return nil
	}
	k.asks.Go(func() {
		reports, err := k.Probe(ctx, j)
		to <- told{lookOf(reports, err, nodes, now), reports}
		<-k.free
		k.Wake()
	})
	return to
}

// lookOf is what nodes told, at a time.
func lookOf(reports []probe.Report, err error, nodes string, now time.Time) look {
	l := look{at: now, procs: map[procKey]proc{}}
	if err != nil {
		l.blind = fmt.Sprintf("its processes cannot be looked at: %v", err)
		return l
	}
	heard := map[string]bool{}
	for _, n := range reports {
		heard[n.Node] = true
		for _, p := range n.Processes {
			l.procs[procKey{n.Node, p.PID, p.Start}] = proc{rank: p.Rank, part: p.Part, stands: p.Stands(), cpu: p.CPUSeconds, io: p.IOBytes, place: p.Place}
		}
	}
	if answer := ncclSaid(reports); answer != nil {
		l.counts = *answer
	}
	for _, n := range expand(nodes) {
		if !heard[n] {
			l.mute = append(l.mute, n)
		}
	}
	return l
}

// ncclSaid is what NCCL says of the ranks: what a node heard of it that heard the most, nil if none could ask it.
func ncclSaid(reports []probe.Report) *ras.Report {
	var best *ras.Report
	ranks := func(r *ras.Report) (n int) {
		for _, c := range r.Comms {
			n += len(c.Ranks)
		}
		return n + len(r.Groups) + len(r.Notes)
	}
	for _, n := range reports {
		for _, a := range n.NCCL {
			if a.Report != nil && (best == nil || ranks(a.Report) > ranks(best)) {
				best = a.Report
			}
		}
	}
	return best
}

// ranksSaid is what NCCL says of ranks that are not well, by what it said before.
func ranksSaid(before, now look, reports []probe.Report) *cause.Ranks {
	if ncclSaid(reports) == nil {
		return nil
	}
	names := map[string]string{}
	for _, n := range reports {
		for _, a := range n.Addrs {
			names[a] = n.Node
		}
	}
	return cause.RanksOf(ras.Frozen(before.counts, now.counts), names)
}

// standing names the nodes of processes that stand still while others wait, and says what stands there.
func standing(l look, reports []probe.Report) (at, says []string) {
	if l.blind != "" {
		return nil, []string{l.blind}
	}
	for _, n := range reports {
		for _, p := range n.Processes {
			if p.Stands() {
				says, at = append(says, standsThere(n.Node, p)), append(at, n.Node)
			}
		}
	}
	for _, n := range l.mute {
		says, at = append(says, n+" does not answer"), append(at, n)
	}
	const most = 8
	slices.Sort(at)
	return slices.Compact(at), says[:min(len(says), most)]
}

// does says what a job does that is silent and is not seen to hang.
func does(f finding) string {
	l, busy, all := f.look, 0, 0
	if l.blind != "" {
		return l.blind
	}
	for _, n := range f.reports {
		for _, p := range n.Processes {
			if p.Part != "" {
				all++
			}
			if p.Part != "" && p.Busy {
				busy++
			}
		}
	}
	switch {
	case all == 0:
		return "no process of a rank can be seen on its nodes"
	case len(l.mute) > 0:
		return fmt.Sprintf("%d of %d processes of its ranks compute, and %s does not answer", busy, all, strings.Join(l.mute, ", "))
	}
	return fmt.Sprintf("%d of %d processes of its ranks compute", busy, all)
}

// standsThere says of a process that it stands. Its words are the user's, and may be any.
func standsThere(node string, p probe.Process) string {
	const most = 200
	clip := func(text string) string { return text[:min(len(text), most)] }
	who := "a process (" + clip(p.Command) + ")"
	if p.Rank != "" {
		who = "rank " + clip(p.Rank)
	}
	if p.State == "D" {
		return fmt.Sprintf("%s on %s waits in the kernel (%s)", who, clip(node), clip(p.Wait))
	}
	return fmt.Sprintf("%s on %s is stopped", who, clip(node))
}

// keepCapture writes the stacks beside the log, and returns the file's name.
func (k *Keeper) keepCapture(ctx context.Context, r *record, h *hang, kind string, reports []probe.Report) string {
	logs := job.Logs(r.job)
	if k.Scribe == nil || len(logs) == 0 || len(reports) == 0 {
		return ""
	}
	path := fmt.Sprintf("%s.%s-%s", logs[0], kind, h.Since.UTC().Format("20060102T150405"))
	text := captureText(fmt.Sprintf("Job %s at %s: %s", r.Label, time.Now().Format(time.RFC3339), h.Why), reports)
	if err := k.Scribe.Put(ctx, r.user(), errand.File{Path: path, Data: []byte(text)}); err != nil {
		h.Ranks = append(h.Ranks, err.Error())
		return ""
	}
	return path
}

// captureText is what people read of the processes.
func captureText(head string, reports []probe.Report) string {
	var text strings.Builder
	fmt.Fprintln(&text, head)
	for _, n := range reports {
		for _, a := range n.NCCL {
			fmt.Fprintf(&text, "\n%s, %s\n", n.Node, answerText(a))
		}
	}
	for _, n := range reports {
		for _, p := range n.Processes {
			fmt.Fprintf(&text, "\n%s, process %d, rank %s, state %s, in the kernel: %s, computes: %t\n%s\n", n.Node, p.PID, orNone(p.Rank), p.State, orNone(p.Wait), p.Busy, p.Command)
			for _, part := range []string{p.Stack, p.Blind} {
				if part != "" {
					fmt.Fprintln(&text, part)
				}
			}
		}
	}
	return text.String()
}

// answerText is NCCL's answer for people.
func answerText(a probe.Answer) string {
	if a.Report == nil {
		return fmt.Sprintf("NCCL at %s cannot be asked: %s", orNone(a.Addr), a.Blind)
	}
	text, err := json.MarshalIndent(a.Report, "", " ")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("NCCL at %s says: %s", a.Addr, text)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
