package job

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Row is a job in a list.
type Row struct {
	ID int `json:"id"`
	// Label is the ID as users write it, such as 9_3 of an array's task.
	Label     string `json:"label"`
	Name      string `json:"name"`
	User      string `json:"user"`
	Partition string `json:"partition"`
	Account   string `json:"account,omitempty"`
	QOS       string `json:"qos,omitempty"`
	// Priority is Slurm's, of jobs that wait.
	Priority int `json:"priority,omitempty"`
	// State is Slurm's word.
	State string `json:"state"`
	// Elapsed is how long the last run took until now or its end, in Go's terms;
	// JSON has it in seconds.
	Elapsed        time.Duration `json:"-"`
	ElapsedSeconds int           `json:"elapsed_seconds"`
	NumNodes       int           `json:"num_nodes"`
	NodeList       string        `json:"node_list,omitempty"`
	// Why says why the job waits or did not complete. It goes on from "the job".
	Why string `json:"why,omitempty"`
	// Attempts counts the job's runs so far.
	Attempts int       `json:"attempts"`
	Submit   time.Time `json:"submit,omitzero"`
	Start    time.Time `json:"start,omitzero"`
	End      time.Time `json:"end,omitzero"`
}

// Rows are the jobs of the queue, and those of the history that are no longer in
// it, in the order of their IDs, and tasks in the order of their array.
func Rows(queue []slurm.Job, history []slurm.Run, now time.Time) []Row {
	rows := []Row{}
	listed := map[int]bool{}
	add := func(j slurm.Job, label, why string) {
		listed[j.ID] = true
		r := Row{
			ID: j.ID, Label: label, Name: j.Name, User: j.User, Partition: j.Partition, Account: j.Account, QOS: j.QOS, State: j.State, NumNodes: j.NumNodes,
			NodeList: j.NodeList, Why: why, Attempts: attempt(j), Submit: j.SubmitTime, Elapsed: Elapsed(j, now),
		}
		if j.State == "PENDING" || j.Again {
			r.Attempts, r.Priority = j.Restarts, j.Priority
		} else {
			r.Start = j.StartTime
		}
		if j.Ended() {
			r.End = j.EndTime
		}
		r.ElapsedSeconds = int(r.Elapsed / time.Second)
		rows = append(rows, r)
	}
	jobs := byJob(history)
	for _, j := range queue {
		j.NodeList = nodesOf(j, jobs[j.ID])
		add(j, j.Label(), why(j, jobs[j.ID]))
	}
	for id, runs := range jobs {
		if listed[id] {
			continue
		}
		last, text := runs[len(runs)-1], ""
		if e := RunEnding(last); !e.OK {
			text = e.Text
		}
		add(jobOf(runs), last.Label, text)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.number(), b.number()), cmp.Compare(a.task(), b.task()), cmp.Compare(a.ID, b.ID))
	})
	return rows
}

// Accounted says that a job's account or QoS is another than the one that Slurm has for everybody.
func Accounted(account, qos string) bool {
	return account != "" && account != "root" || qos != "" && qos != "normal"
}

// number is the job's number, or its array's.
func (r Row) number() int {
	array, _, _ := strings.Cut(r.Label, "_")
	return cmp.Or(number(array), r.ID)
}

// task is an index of an array. Tasks that were not split off come last.
func (r Row) task() int {
	_, task, _ := strings.Cut(r.Label, "_")
	if strings.HasPrefix(task, "[") {
		return math.MaxInt
	}
	return number(task)
}

// why says why a job of the queue waits or did not complete.
func why(j slurm.Job, runs []slurm.Run) string {
	switch {
	case j.State == "PENDING":
		return Why(j)
	case j.Again:
		return State(View{Job: j, Before: lastState(runs)})
	case j.Ended() && j.State != "COMPLETED":
		return EndingOf(View{Job: j}).Text
	}
	return ""
}

// Elapsed is how long the job's last run took until now or its end.
func Elapsed(j slurm.Job, now time.Time) time.Duration {
	switch {
	case j.State == "PENDING", j.State == "CONFIGURING", j.Again, j.StartTime.IsZero():
		return 0
	case j.Ended() && j.EndTime.IsZero():
		return 0
	case j.Ended(), j.State == "COMPLETING" && j.EndTime.Before(now) && !j.EndTime.IsZero():
		now = j.EndTime
	}
	return max(now.Sub(j.StartTime), 0).Truncate(time.Second)
}
