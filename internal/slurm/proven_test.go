package slurm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// ctld answers scontrol and squeue in the place of a slurmctld that has some jobs.
type ctld struct{ jobs []Job }

func (a ctld) Run(_ context.Context, name string, args ...string) ([]byte, error) {
	var b strings.Builder
	for _, j := range a.jobs {
		last := args[len(args)-1]
		switch {
		case name == "squeue" && (!strings.HasPrefix(last, "--jobs=") || last == fmt.Sprintf("--jobs=%d", j.ID)):
			array := j.ID
			if j.ArrayJobID != 0 {
				array = j.ArrayJobID
			}
			fmt.Fprintf(&b, "%d %d %d %d %s\n", j.ID, array, j.UID, j.GID, j.State)
		case name == "scontrol" && (last == "job" || last == fmt.Sprint(j.ID)):
			b.WriteString(shownJob(j))
		}
	}
	if b.Len() == 0 && args[len(args)-1] != "job" {
		return nil, ErrNoJob
	}
	return []byte(b.String()), nil
}

// shownJob is the row that scontrol writes of a job.
func shownJob(j Job) string {
	array := ""
	if j.ArrayJobID != 0 {
		array = fmt.Sprintf("ArrayJobId=%d ArrayTaskId=%s ", j.ArrayJobID, j.ArrayTask)
	}
	return fmt.Sprintf("JobId=%d %sJobName=%s UserId=%s(%d) GroupId=g(%d) MCS_label=N/A Priority=1 Account=a JobState=%s Reason=None Requeue=1 Restarts=%d BatchFlag=1 "+
		"ExitCode=0:0 SubmitTime=2026-01-01T00:00:00 StartTime=2026-01-01T00:00:01 EndTime=Unknown Partition=q NodeList=n1 Command=/x.sh WorkDir=%s Comment=%s StdErr=/o StdIn=/dev/null StdOut=/o \n",
		j.ID, array, j.Name, j.User, j.UID, j.GID, j.State, j.Restarts, j.WorkDir, j.Comment)
}

// forgeries are what a user might write: rows of others and of the user's own job, in pieces.
func forgeries() []string {
	row := func(id string, uid int, state string) string {
		return fmt.Sprintf("JobId=%s JobName=y UserId=root(%d) GroupId=root(0) MCS_label=N/A JobState=%s SubmitTime=2026-01-01T00:00:00 Partition=q StdOut=/etc/shadow", id, uid, state)
	}
	all := []string{"", "x", "\n", " ", "\n   ", "\xff", " UserId=root(0) GroupId=root(0) MCS_label=N/A JobState=RUNNING SubmitTime=2026-01-01T00:00:00 Partition=q ", "JobId=77 JobName=z", "JobId=901 JobName=z", "JobId=5", " StdOut=/x"}
	for _, id := range []string{"5", "05", "+5", "5-8", "6", "7", "77", "900", "0900", "901", "5 ArrayJobId=6"} {
		for _, uid := range []int{0, 1000, 1001} {
			all = append(all, row(id, uid, "RUNNING"), row(id, uid, "COMPLETED"))
		}
	}
	return all
}

// trueJobs are jobs of which the last one is a user's who writes what he likes.
func trueJobs(name, dir, comment string) []Job {
	return []Job{
		{ID: 5, Name: "a", User: "ada", UID: 1000, GID: 1000, State: "RUNNING", WorkDir: "/a"},
		{ID: 6, ArrayJobID: 6, ArrayTask: "1-3", Name: "b", User: "ada", UID: 1000, GID: 1000, State: "PENDING", WorkDir: "/a"},
		{ID: 7, Name: "c", User: "root", UID: 0, GID: 0, State: "COMPLETED", WorkDir: "/a"},
		{ID: 900, Name: name, User: "eve", UID: 1001, GID: 1001, State: "RUNNING", WorkDir: dir, Comment: comment},
	}
}

// checkProven holds that each job that is told is one that there is and its owner's, and that those that are not told are
// problems with their numbers, and can be had alone.
func checkProven(t *testing.T, name, dir, comment string) {
	t.Helper()
	jobs := trueJobs(name, dir, comment)
	p := Proven{Client{Runner: ctld{jobs}, Location: time.UTC}}
	got, problems, err := p.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range got {
		i := slices.IndexFunc(jobs, func(o Job) bool { return o.ID == j.ID })
		if i < 0 || jobs[i].UID != j.UID || jobs[i].GID != j.GID || jobs[i].ArrayJobID != j.ArrayJobID {
			t.Errorf("name %q, directory %q, comment %q: made up: %+v", name, dir, comment, j)
		} else if j.ID != 900 && (j.State != jobs[i].State || j.StdOut != "/o" || j.Name != jobs[i].Name) {
			t.Errorf("name %q, directory %q, comment %q: job %d is told of as %+v", name, dir, comment, j.ID, j)
		}
	}
	for _, want := range jobs {
		told := slices.ContainsFunc(got, func(j Job) bool { return j.ID == want.ID })
		if odd := slices.ContainsFunc(problems, func(p Problem) bool { return p.Job == want.ID }); told == odd {
			t.Errorf("name %q, directory %q, comment %q: job %d is told: %t, a problem: %t", name, dir, comment, want.ID, told, odd)
		}
		alone, err := p.Job(t.Context(), want.ID)
		if want.ID != 900 && (err != nil || alone.Name != want.Name || alone.UID != want.UID) {
			t.Errorf("name %q, directory %q, comment %q: job %d alone: %+v, %v", name, dir, comment, want.ID, alone, err)
		}
		if err == nil && (alone.UID != want.UID || alone.GID != want.GID) {
			t.Errorf("name %q, directory %q, comment %q: job %d alone is made up: %+v", name, dir, comment, want.ID, alone)
		}
	}
}

func TestProvenJobs(t *testing.T) {
	got, problems, err := Proven{Client{Runner: ctld{trueJobs("x", "/e", "")}, Location: time.UTC}}.Jobs(t.Context())
	if err != nil || len(got) != 4 || len(problems) > 0 {
		t.Errorf("%+v, %v, %v", got, problems, err)
	}
	if j, err := (Proven{Client{Runner: ctld{trueJobs("x", "/e", "")}}}).Job(t.Context(), 5); err != nil || j.UID != 1000 {
		t.Errorf("%+v, %v", j, err)
	}
	// What Slurm 22.05 says of a job of this name: three rows that all look whole.
	name := "x UserId=root(0) GroupId=root(0) MCS_label=N/A JobState=RUNNING Partition=gpu SubmitTime=2026-01-01T00:00:00\n" +
		"JobId=05 JobName=y UserId=u(7) GroupId=g(7) MCS_label=N/A JobState=RUNNING Partition=gpu SubmitTime=2026-01-01T00:00:00\nJobId=77 JobName=z"
	checkProven(t, name, "/e", "")
	pieces := forgeries()
	for _, a := range pieces {
		checkProven(t, "x"+a, "/e", "")
		checkProven(t, "x\n"+a, "/e", "")
		checkProven(t, "x\n"+a+"\nJobId=901 JobName=z", "/e", "")
		checkProven(t, "x", "/e\n"+a+"\n", "")
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (text string) {
		for range random.IntN(5) {
			text += pieces[random.IntN(len(pieces))] + []string{"", "\n", "\n", " "}[random.IntN(4)]
		}
		return text
	}
	for range 500 {
		checkProven(t, text(), text(), text())
	}
}

// A job may end, begin or be forgotten between the two questions.
func TestProvenMeanwhile(t *testing.T) {
	running := owner{array: 5, uid: 1000, gid: 1000, state: "RUNNING"}
	ended := running
	ended.state = "COMPLETED"
	job := func(id int, state string) Job { return Job{ID: id, UID: 1000, GID: 1000, State: state} }
	for name, c := range map[string]struct {
		jobs           []Job
		owners         map[int]owner
		good, problems int
	}{
		"ended_meanwhile":        {[]Job{job(5, "COMPLETED")}, map[int]owner{5: running}, 1, 0},
		"came_meanwhile":         {[]Job{job(5, "RUNNING"), job(6, "PENDING")}, map[int]owner{5: running}, 1, 0},
		"was_never_there":        {[]Job{job(4, "RUNNING"), job(5, "RUNNING")}, map[int]owner{5: running}, 1, 1},
		"forgotten_meanwhile":    {nil, map[int]owner{5: ended}, 0, 1},
		"goes_on_though_ended":   {[]Job{job(5, "RUNNING")}, map[int]owner{5: ended}, 0, 1},
		"has_no_row":             {nil, map[int]owner{5: running}, 0, 1},
		"is_anothers":            {[]Job{{ID: 5, UID: 0, State: "RUNNING"}}, map[int]owner{5: running}, 0, 1},
		"is_of_an_array_of_none": {[]Job{{ID: 5, ArrayJobID: 4, UID: 1000, GID: 1000, State: "RUNNING"}}, map[int]owner{5: running}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			good, problems := proven(c.jobs, c.owners)
			if len(good) != c.good || len(problems) != c.problems {
				t.Errorf("%+v, %+v", good, problems)
			}
		})
	}
	for _, said := range []string{"5 5 1000 1000\n", "x 5 0 0 RUNNING\n", "5 5 -1 0 RUNNING\n", "5 5 0 0 RUNNING more\n"} {
		if got, err := parseOwners([]byte(said)); err == nil {
			t.Errorf("%q is %+v", said, got)
		}
	}
}
