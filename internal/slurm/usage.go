package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Usage is what the last run of a job was given and what it used, from the accounting
// database.
type Usage struct {
	// ID is the job's own number, and Label what users write, such as 9_3.
	ID, Label, Cluster, User, Group string
	State                           string
	ExitCode                        ExitCode
	Nodes, CPUs                     int
	// CPUTime is what the job's processes computed, Elapsed how long it ran.
	CPUTime, Elapsed time.Duration
	// MemoryBytes is the most that a task of it used, times the tasks of its step;
	// Tasks are those.
	MemoryBytes int64
	Tasks       int
	// GivenBytes is the memory that it was given, 0 where Slurm does not count memory.
	GivenBytes int64
}

// usageFields are the columns that Usage asks sacct for.
const usageFields = "JobIDRaw,JobID,Cluster,User,Group,State,ExitCode,NNodes,AllocCPUS,TotalCPU,ElapsedRaw,MaxRSS,NTasks,AllocTRES"

// Usage asks for a job's. ErrNoJob says that there is none.
func (c Client) Usage(ctx context.Context, job string) (Usage, error) {
	out, err := c.Runner.Run(ctx, "sacct", "--parsable2", "--noheader", "--jobs="+job, "--format="+usageFields)
	if err != nil {
		return Usage{}, err
	}
	u, err := parseUsage(string(out))
	if err != nil {
		return Usage{}, err
	}
	u.User, u.Group = c.owner(ctx, u)
	return u, nil
}

// owner is whose job it is. The database learns that some seconds late of a job that ends
// at once, and says root until then; slurmctld knows it as long as it knows the job.
func (c Client) owner(ctx context.Context, u Usage) (user, group string) {
	id, err := strconv.Atoi(u.ID)
	if err != nil {
		return u.User, u.Group
	}
	j, err := c.Job(ctx, id)
	if err != nil || j.User == "" {
		return u.User, u.Group
	}
	return j.User, j.Group
}

// parseUsage reads the answer of sacct for one job: its own row, and then its steps'.
func parseUsage(text string) (Usage, error) {
	var u Usage
	found := false
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) != strings.Count(usageFields, ",")+1 {
			return u, fmt.Errorf("read sacct: %q has %d columns", line, len(f))
		}
		var err error
		if strings.Contains(f[0], ".") {
			err = u.step(f)
		} else if !found {
			found, err = true, u.allocation(f)
		} else {
			break // another task of an array
		}
		if err != nil {
			return u, fmt.Errorf("read sacct: %q: %w", strings.TrimSpace(line), err)
		}
	}
	if !found {
		return u, ErrNoJob
	}
	return u, nil
}

func (u *Usage) allocation(f []string) (err error) {
	u.ID, u.Label, u.Cluster, u.User, u.Group = f[0], f[1], f[2], f[3], f[4]
	u.State, _, _ = strings.Cut(f[5], " ") // CANCELLED by 1000
	code, signal, _ := strings.Cut(f[6], ":")
	errs := []error{fill(code, &u.ExitCode.Code), fill(signal, &u.ExitCode.Signal), fill(f[7], &u.Nodes), fill(f[8], &u.CPUs)}
	whole, _, _ := strings.Cut(f[9], ".") // 00:01.234
	u.CPUTime, err = parseDuration(whole)
	errs = append(errs, err)
	var seconds int
	errs = append(errs, fill(f[10], &seconds))
	u.Elapsed = time.Duration(seconds) * time.Second
	for _, tres := range strings.Split(f[13], ",") {
		if size, ok := strings.CutPrefix(tres, "mem="); ok {
			u.GivenBytes, err = parseSize(size)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// step takes over what a step used, if that is the most.
func (u *Usage) step(f []string) error {
	if f[11] == "" {
		return nil // it runs, or was not measured
	}
	size, err := parseSize(f[11])
	if err != nil {
		return err
	}
	tasks := 1
	if err := fill(f[12], &tasks); err != nil {
		return err
	}
	if all := size * int64(tasks); all >= u.MemoryBytes {
		u.MemoryBytes, u.Tasks = all, tasks
	}
	return nil
}

// fill reads a number; an empty text leaves what is there.
func fill(text string, into *int) (err error) {
	if text == "" {
		return nil
	}
	*into, err = strconv.Atoi(text)
	return err
}

// parseSize reads a size as sacct writes it: 0, 1234K, 1.50G.
func parseSize(text string) (int64, error) {
	shift := 0
	if i := strings.IndexByte("KMGTP", text[len(text)-1]); i >= 0 {
		shift, text = 10*(i+1), text[:len(text)-1]
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no size", text)
	}
	return int64(n * float64(int64(1)<<shift)), nil
}
