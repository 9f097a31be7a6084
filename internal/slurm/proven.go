package slurm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Proven is a client for who acts in the name of jobs' users. What scontrol says of a job has its user's words in it, and these
// may look like the rows of other jobs, or say that it is another user's. squeue is asked as well, for numbers alone: a job that
// is not among them, or is another user's by them, is none.
//
// It is asked first. A job that it knows and that has not ended has a row of its own in what scontrol says then, so that a row
// that somebody made up is the second one of its number.
type Proven struct{ Client }

// ownerFormat is what squeue is asked for. No user's text is in it.
const ownerFormat = "%A %F %U %G %T"

// owner is whose a job is.
type owner struct {
	array, uid, gid int
	state           string
}

// owners are those of all jobs, or of some.
func (p Proven) owners(ctx context.Context, ids ...int) (map[int]owner, error) {
	args := []string{"--noheader", "--all", "--states=all", "--format=" + ownerFormat}
	for _, id := range ids {
		args = append(args, "--jobs="+strconv.Itoa(id))
	}
	out, err := p.Runner.Run(ctx, "squeue", args...)
	if err != nil {
		return nil, err
	}
	return parseOwners(out)
}

func parseOwners(output []byte) (map[int]owner, error) {
	all := map[int]owner{}
	for line := range strings.Lines(string(output)) {
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("squeue said %q instead of a job and its owner", shorten(strings.TrimSpace(line)))
		}
		var n [4]int
		for i := range n {
			v, err := strconv.ParseUint(f[i], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("squeue said %q instead of a number", shorten(f[i]))
			}
			n[i] = int(v)
		}
		all[n[0]] = owner{array: n[1], uid: n[2], gid: n[3], state: f[4]}
	}
	return all, nil
}

// proves says that a job is what it seems to be. One that had ended may be forgotten meanwhile: of such, a row proves nothing
// that says that it goes on.
func (o owner) proves(j Job) bool {
	array := j.ID
	if j.ArrayJobID != 0 {
		array = j.ArrayJobID
	}
	return o.array == array && o.uid == j.UID && (o.gid == j.GID || j.GID < 0) && (!stateEnded(o.state) || o.state == j.State)
}

// Jobs are all jobs, as Client's are. A problem with a number is a job that there is and that cannot be read: whoever asks for
// it alone may read it.
func (p Proven) Jobs(ctx context.Context) ([]Job, []Problem, error) {
	owners, err := p.owners(ctx)
	if err != nil {
		return nil, nil, err
	}
	jobs, problems, err := p.Client.Jobs(ctx)
	if err != nil {
		return nil, nil, err
	}
	jobs, odd := proven(jobs, owners)
	return jobs, append(problems, odd...), nil
}

// proven are the jobs that are what they seem to be. One that came after squeue was asked is left to the next time, and one that
// was forgotten meanwhile is a problem once.
func proven(jobs []Job, owners map[int]owner) (good []Job, problems []Problem) {
	last := 0
	for id := range owners {
		last = max(last, id)
	}
	missing := maps.Clone(owners)
	for _, j := range jobs {
		o, known := owners[j.ID]
		switch {
		case known && o.proves(j):
			good = append(good, j)
			delete(missing, j.ID)
		case !known && j.ID <= last:
			problems = append(problems, Problem{Row: shorten(j.Name), Text: fmt.Sprintf("there is no job %d", j.ID)})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		problems = append(problems, Problem{Text: fmt.Sprintf("job %d cannot be told from what users write", id), Job: id, ArrayJob: missing[id].array})
	}
	return good, problems
}

// Job is one job, as Client's is.
func (p Proven) Job(ctx context.Context, id int) (Job, error) {
	owners, err := p.owners(ctx, id)
	if err != nil {
		return Job{}, err
	}
	j, err := p.Client.Job(ctx, id)
	if err != nil {
		return Job{}, err
	}
	if o, known := owners[id]; !known || !o.proves(j) {
		return Job{}, fmt.Errorf("scontrol show job %d: it cannot be told from what users write", id)
	}
	return j, nil
}
