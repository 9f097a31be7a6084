package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Job is a job that slurmctld knows: pending, running, or ended not long ago.
type Job struct {
	ID int `json:"id"`
	// ArrayJobID is the array that the job belongs to, 0 if to none.
	// ArrayTask is its index, or for tasks not yet split off their indices
	// ("3-7%2").
	ArrayJobID int    `json:"array_job_id,omitempty"`
	ArrayTask  string `json:"array_task,omitempty"`
	Name       string `json:"name"`
	User       string `json:"user"`
	UID        int    `json:"uid"`
	Group      string `json:"group,omitempty"`
	GID        int    `json:"gid,omitempty"`
	Account    string `json:"account,omitempty"`
	QOS        string `json:"qos,omitempty"`
	// Priority is Slurm's number for a job that waits or runs.
	Priority  int    `json:"priority,omitempty"`
	Partition string `json:"partition"`
	// State is Slurm's word in capitals, such as PENDING or NODE_FAIL.
	State      string `json:"state"`
	Reason     string `json:"reason,omitempty"`
	Dependency string `json:"dependency,omitempty"`
	NodeList   string `json:"node_list,omitempty"`
	// ExcNodeList are nodes that the job may not have, a host list.
	ExcNodeList string `json:"exc_node_list,omitempty"`
	BatchHost   string `json:"batch_host,omitempty"`
	NumNodes    int    `json:"num_nodes"`
	NumCPUs     int    `json:"num_cpus"`
	NumTasks    int    `json:"num_tasks,omitempty"`
	Restarts    int    `json:"restarts"`
	Requeue     bool   `json:"requeue"`
	// Again says that Slurm cleans up after the job's last run (COMPLETING) and then
	// queues the job again. NodeList are the nodes that it still cleans up.
	Again    bool     `json:"again,omitempty"`
	Batch    bool     `json:"batch"`
	ExitCode ExitCode `json:"exit_code"`
	// TimeLimit is 0 where there is none.
	TimeLimit    time.Duration `json:"time_limit,omitempty"`
	SubmitTime   time.Time     `json:"submit_time,omitzero"`
	EligibleTime time.Time     `json:"eligible_time,omitzero"`
	// StartTime of a pending job is when Slurm expects to start it.
	StartTime time.Time `json:"start_time,omitzero"`
	EndTime   time.Time `json:"end_time,omitzero"`
	// PreemptTime is when Slurm told the job to make room for another one: it runs on until EndTime at the most.
	PreemptTime time.Time `json:"preempt_time,omitzero"`
	StdOut      string    `json:"stdout,omitempty"`
	StdErr      string    `json:"stderr,omitempty"`
	WorkDir     string    `json:"work_dir,omitempty"`
	Command     string    `json:"command,omitempty"`
	Comment     string    `json:"comment,omitempty"`
	// TRES is what the job holds, or asked for while it holds nothing.
	TRES string `json:"tres,omitempty"`
	Gres string `json:"gres,omitempty"`
}

// ExitCode is how a job's program ended: its exit code, or the signal that
// ended it.
type ExitCode struct {
	Code   int `json:"code"`
	Signal int `json:"signal,omitempty"`
}

// String is the exit code as Slurm writes it, "13:0".
func (e ExitCode) String() string { return fmt.Sprintf("%d:%d", e.Code, e.Signal) }

// parseExitCode reads "13:0"; "" is 0:0.
func parseExitCode(text string) (ExitCode, error) {
	if text == "" {
		return ExitCode{}, nil
	}
	code, signal, _ := strings.Cut(text, ":")
	c, err := strconv.Atoi(code)
	if err != nil {
		return ExitCode{}, fmt.Errorf("%q is no exit code", shorten(text))
	}
	s := 0
	if signal != "" {
		if s, err = strconv.Atoi(signal); err != nil {
			return ExitCode{}, fmt.Errorf("%q is no exit code", shorten(text))
		}
	}
	return ExitCode{Code: c, Signal: s}, nil
}

// Label is the job's number as users write it: 12, or 9_3 for an array's task.
func (j Job) Label() string {
	if j.ArrayJobID == 0 {
		return strconv.Itoa(j.ID)
	}
	if j.Unsplit() {
		return fmt.Sprintf("%d_[%s]", j.ArrayJobID, j.ArrayTask)
	}
	return fmt.Sprintf("%d_%s", j.ArrayJobID, j.ArrayTask)
}

// Unsplit tells whether the job stands for several tasks of an array that wait.
func (j Job) Unsplit() bool { return strings.ContainsAny(j.ArrayTask, "-,%") }

// Ended says that the job will not run again without being requeued.
func (j Job) Ended() bool { return stateEnded(j.State) }

// Refused says that Slurm failed the job before it had a node. slurmctld gives it the
// status 1, which reads as a signal and is none; the history has it as exit code 1.
func (j Job) Refused() bool {
	const setBySlurm = 1
	return j.State == "FAILED" && j.NodeList == "" && j.BatchHost == "" && j.StartTime.Equal(j.EndTime) &&
		j.ExitCode.Code+j.ExitCode.Signal == setBySlurm
}

// stateEnded says that a job in this state has ended for good.
func stateEnded(state string) bool {
	switch state {
	case "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
		"OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED", "RECONFIG_FAIL", "REVOKED":
		return true
	}
	return false
}

var jobGrammar = sync.OnceValue(func() grammar {
	return grammar{
		first: "JobId",
		keys: words(`JobId ArrayJobId ArrayTaskId ArrayTaskThrottle HetJobId HetJobOffset HetJobIdSet JobName UserId
		GroupId MCS_label Priority Nice Account QOS WCKey JobState Reason FailedNode Dependency Requeue Restarts BatchFlag Reboot
		ExitCode DerivedExitCode RunTime TimeLimit TimeMin SubmitTime EligibleTime AccrueTime StartTime EndTime
		Deadline PreemptEligibleTime PreemptTime SuspendTime SecsPreSuspend LastSchedEval ResizeTime Scheduler Partition
		AllocNode:Sid ReqNodeList ExcNodeList NodeList SchedNodeList BatchHost NumNodes NumCPUs NumTasks
		CPUs/Task ReqB:S:C:T TRES ReqTRES AllocTRES Socks/Node NtasksPerN:B:S:C CoreSpec MinCPUsNode
		MinMemoryNode MinMemoryCPU MinTmpDiskNode Features Prefer Reservation DelayBoot OverSubscribe Contiguous
		Licenses LicensesAlloc LicensesReq Network Command SubmitLine WorkDir AdminComment SystemComment Comment
		Extra StdErr StdIn StdOut Switches Power CpusPerTres MemPerTres TresBind TresFreq TresPerJob TresPerNode
		TresPerSocket TresPerTask MailUser MailType BatchFeatures BurstBuffer BurstBufferState NodeSeparator
		Container ContainerID SELinuxContext GresEnforceBind OriginCluster ClusterFeatures StepMgrEnabled Segment
		JOB_GRES Nodes CPU_IDs GRES Mem`),
		free: words(`JobName Comment AdminComment SystemComment Extra Command SubmitLine WorkDir StdErr StdIn StdOut
		Account WCKey Network Container MailUser`),
	}
})

// nameEnd is what follows a job's name. A name or comment that has it, too,
// makes a row that can be read in two ways.
var nameEnd = pattern.New(`(?s) UserId=\S+\(\d+\) GroupId=\S+\(\d+\) MCS_label=`)

// ParseJobs reads scontrol show job, one line a job or many. Users choose the
// names and comments in it and may break rows by accident or on purpose: a row
// that cannot be read, or that can be read in two ways, is a Problem and not a
// Job. Times are in loc, nil is local.
func ParseJobs(output []byte, loc *time.Location) ([]Job, []Problem) {
	rows := jobGrammar().records(output, loc)
	seen := map[int]int{}
	for i := range rows {
		seen[numberOf(&rows[i])]++
	}
	return parsed(rows, func(r *record) Job {
		if end := nameEnd().FindStringIndex(r.row); end != nil {
			if start := strings.Index(r.row[:end[0]], " JobName="); start >= 0 {
				r.values = jobGrammar().cutAround(r.row, "JobName", start+len(" JobName="), end[0])
			}
		}
		job := jobOf(r)
		switch {
		case strconv.Itoa(job.ID) != r.values["JobId"]:
			r.fail(fmt.Errorf("JobId=%q is no number of Slurm's", shorten(r.values["JobId"])))
		case seen[job.ID] > 1:
			r.fail(fmt.Errorf("job %d comes twice", job.ID))
		case len(nameEnd().FindAllStringIndex(r.row, 2)) > 1:
			r.fail(fmt.Errorf("job %d can be read in two ways", job.ID))
		}
		return job
	})
}

// numberOf is the number that a row begins with as Slurm writes numbers, 0 if it is none: "05" is no job, and hides none.
func numberOf(r *record) int {
	id, err := strconv.Atoi(r.values["JobId"])
	if err != nil || strconv.Itoa(id) != r.values["JobId"] {
		return 0
	}
	return id
}

func jobOf(r *record) Job {
	j := Job{
		ID:           r.int("JobId"),
		ArrayJobID:   r.int("ArrayJobId"),
		ArrayTask:    r.text("ArrayTaskId"),
		Name:         r.values["JobName"],
		Account:      r.text("Account"),
		QOS:          r.text("QOS"),
		Priority:     r.int("Priority"),
		Partition:    r.text("Partition"),
		State:        r.text("JobState"),
		Reason:       r.text("Reason"),
		Dependency:   r.text("Dependency"),
		NodeList:     r.text("NodeList"),
		ExcNodeList:  r.text("ExcNodeList"),
		BatchHost:    r.text("BatchHost"),
		NumNodes:     r.int("NumNodes"),
		NumCPUs:      r.int("NumCPUs"),
		NumTasks:     r.int("NumTasks"),
		Restarts:     r.int("Restarts"),
		Requeue:      r.values["Requeue"] == "1",
		Batch:        r.values["BatchFlag"] == "1",
		TimeLimit:    r.duration("TimeLimit"),
		SubmitTime:   r.time("SubmitTime"),
		EligibleTime: r.time("EligibleTime"),
		StartTime:    r.time("StartTime"),
		EndTime:      r.time("EndTime"),
		PreemptTime:  r.time("PreemptTime"),
		StdOut:       r.text("StdOut"),
		StdErr:       r.first("StdErr", "StdOut"),
		WorkDir:      r.text("WorkDir"),
		Command:      r.text("Command"),
		Comment:      r.text("Comment"),
		TRES:         r.first("AllocTRES", "TRES", "ReqTRES"),
		Gres:         r.first("TresPerNode", "TresPerJob", "TresPerTask", "TresPerSocket"),
	}
	r.jobRest(&j)
	return j
}

// jobRest reads what is not one value in one field, and what must be there.
func (r *record) jobRest(j *Job) {
	if j.Reason == "None" {
		j.Reason = ""
	}
	if j.State == "COMPLETING" {
		r.completing(j)
	}
	var err error
	if j.User, j.UID, err = parseUser(r.values["UserId"]); err != nil {
		r.fail(err)
	}
	if j.Group, j.GID, err = parseUser(r.values["GroupId"]); err != nil {
		j.Group, _, _ = strings.Cut(r.values["GroupId"], "(")
		j.GID = -1
	}
	if j.ExitCode, err = parseExitCode(r.text("ExitCode")); err != nil {
		r.fail(err)
	}
	if j.Refused() {
		j.ExitCode = ExitCode{Code: 1}
	}
	if j.ID <= 0 || j.State == "" || j.Partition == "" || j.SubmitTime.IsZero() {
		r.fail(fmt.Errorf("a job without a number, state, partition or time of submission"))
	}
}

// completing reads what is otherwise of a job that Slurm cleans up after. Its nodes and
// CPUs are those that are not released yet, but its trackable resources are whole. One
// that is to be queued again waits already beneath that word: it has not run at all, but
// has an end that its time limit gives, or none. Nothing else tells the two apart.
func (r *record) completing(j *Job) {
	const shortestLimit = time.Minute
	j.NumNodes = max(j.NumNodes, counted(j.TRES, "node"))
	j.NumCPUs = max(j.NumCPUs, counted(j.TRES, "cpu"))
	expected := j.EndTime.IsZero() || j.EndTime.Sub(j.StartTime) >= shortestLimit
	j.Again = j.Restarts > 0 && r.duration("RunTime") == 0 && expected
}

// parseUser reads "alice(1000)".
func parseUser(text string) (string, int, error) {
	name, rest, _ := strings.Cut(text, "(")
	uid, err := strconv.Atoi(strings.TrimSuffix(rest, ")"))
	if err != nil {
		return "", 0, fmt.Errorf("UserId=%q is no user", shorten(text))
	}
	return name, uid, nil
}

// counted is how much a list of trackable resources has of one, 0 if it does not say.
func counted(tres, of string) int {
	for item := range strings.SplitSeq(tres, ",") {
		if name, value, _ := strings.Cut(item, "="); name == of {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}

// GPUs counts the GPUs in a list of trackable resources such as
// "cpu=2,node=2,gres/gpu=16". Where only typed GPUs are listed, it adds these.
func GPUs(tres string) int {
	typed := 0
	for item := range strings.SplitSeq(tres, ",") {
		name, value, _ := strings.Cut(item, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
		case name == "gres/gpu":
			return n
		case strings.HasPrefix(name, "gres/gpu:"):
			typed += n
		}
	}
	return typed
}

// CPUs counts the CPUs in a list of trackable resources.
func CPUs(tres string) int { return counted(tres, "cpu") }
