package job

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
)

// signsSize is how much of the end of a log is searched for why a job ended, in bytes: what many
// ranks say after the first that failed.
const signsSize = 8 << 20

// signsMost is more than matter: each rank of a large job may say something.
const signsMost = 10000

// ReadSigns finds what the ends of a job's logs say of its end. A log that is not there says nothing;
// one that cannot be read is an error, beside what the others say.
func ReadSigns(j slurm.Job) ([]cause.Sign, error) {
	var all []cause.Sign
	var errs []error
	for _, path := range Logs(j) {
		tail, from, err := readTail(path, j.UID, signsSize)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, signsOf(filepath.Base(path), tail, from)...)
	}
	return all, errors.Join(errs...)
}

// signsOf are those of a log's end, which begins at an offset. Where that is not the beginning, a
// line is cut, and nobody knows how many there were before.
func signsOf(name string, tail []byte, from int64) []cause.Sign {
	if from > 0 {
		tail = tail[bytes.IndexByte(tail, '\n')+1:]
	}
	reader := &trainlog.Reader{}
	found, rest := reader.Feed(tail), reader.End()
	all := cause.Gather(nil, name, found, signsMost)
	all = cause.Gather(all, name, rest, signsMost)
	for i := range all {
		if from > 0 {
			all[i].Place.Line = 0
		}
	}
	return all
}

// lastRun are the signs of the job's last run, where its runs write one log: those behind the last
// line by which Slurm ended another.
func lastRun(signs []cause.Sign, state string) []cause.Sign {
	own := map[string]trainlog.Kind{"NODE_FAIL": trainlog.NodeFailure, "PREEMPTED": trainlog.Preempted, "REQUEUED": trainlog.Requeued}
	for i, s := range slices.Backward(signs) {
		between := s.Kind == trainlog.Requeued || s.Kind == trainlog.Preempted || s.Kind == trainlog.NodeFailure
		if between && s.Kind != own[state] {
			return signs[i+1:]
		}
	}
	return signs
}

// Judge says how a job ended, by what Slurm has of it and what its logs say. The job must have ended.
func Judge(v View, steps []slurm.Step, signs []cause.Sign) cause.Verdict {
	j := v.Job
	nodes, _ := slurm.Expand(j.NodeList)
	e := cause.Evidence{
		Run: cause.Run{
			State: j.State, Reason: j.Reason, Exit: cause.Exit(j.ExitCode), Nodes: nodes, Start: j.StartTime, End: j.EndTime,
		},
		Signs: lastRun(signs, j.State), Checkpoint: cause.NoCheckpoint, Policy: policy.Default(),
	}
	for _, s := range steps {
		if s.Name != "" && !s.Start.Before(j.StartTime) {
			on, _ := slurm.Expand(s.NodeList)
			e.Run.Steps = append(e.Run.Steps, cause.Step{Name: s.Name, State: s.State, Exit: cause.Exit(s.ExitCode), Nodes: on, Tasks: s.Tasks, Layout: s.Layout})
		}
	}
	for _, l := range v.Lost {
		e.Nodes = append(e.Nodes, cause.Node{Name: l.Node, Down: true, Reason: l.Reason})
	}
	return cause.Judge(e)
}

// CauseText says why a job ended, with its place, where that is more than Slurm's accounting and so
// the job's ending say; else it is empty. It goes on from "the job".
func CauseText(v cause.Verdict) string {
	if len(v.Findings) == 0 {
		return ""
	}
	first := v.Findings[0]
	switch {
	case v.Class == cause.Unknown, v.Class == cause.Completed, first.Place == "", strings.HasPrefix(first.Place, "node "):
		return ""
	case v.Class == cause.Crash && strings.HasPrefix(first.Place, "accounting: step ") && !strings.HasPrefix(first.Place, "accounting: step batch"):
		// The script's own end says less: of a step whose ranks the launcher ended, no more than that.
	case strings.HasPrefix(first.Place, "accounting:") && v.Class != cause.NoRestart:
		return ""
	}
	return v.Text + " (" + first.Place + ")"
}
