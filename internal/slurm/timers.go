package slurm

import (
	"strconv"
	"time"
)

// Timers are Slurm's waits, in seconds.
type Timers struct {
	// Resume is how long a node may take from power-up to its registration.
	Resume int
	// Suspend is how long after SuspendProgram a node is free to be resumed.
	Suspend int
	// NodeSilence is how long a node may not answer before it is down. A node
	// that the provider knows to be dead is set down at once instead.
	NodeSilence int
	// Credential is how long a job's credential lives, and also how long a
	// requeued job waits before it may start again (AuthInfo=cred_expire).
	Credential int
	Message    int
	BatchStart int
	// Scheduler and Backfill are the longest waits between two looks at the queue.
	Scheduler, Backfill int
	// Power is how often slurmctld looks for nodes to power up or down.
	Power int
}

// LocalTimers are as low as is safe on one machine. An instance starts and ends
// in milliseconds there, but eighty daemons on two cores may be slow to answer.
func LocalTimers() Timers {
	return Timers{
		Resume: 120, Suspend: 2, NodeSilence: 60, Credential: 5, Message: 30, BatchStart: 60,
		Scheduler: 1, Backfill: 2, Power: 1,
	}
}

// CloudTimers are those of machines that boot: resume is how many seconds the
// cluster file gives them. The others lie between ParallelCluster's, which are for
// clusters of a thousand nodes, and those of one machine.
func CloudTimers(resume int) Timers {
	return Timers{
		Resume: resume, Suspend: 60, NodeSilence: 180, Credential: 70, Message: 60, BatchStart: 180,
		Scheduler: 5, Backfill: 10, Power: 2,
	}
}

// BurningIn are the timers of a cluster whose nodes prove themselves before they register, for up to a limit; 0 is not at all.
func (t Timers) BurningIn(limit, ends time.Duration) Timers {
	if limit > 0 {
		t.Resume += int((limit + ends).Seconds())
	}
	return t
}

func (t Timers) write(set func(string, any)) {
	set("ResumeTimeout", t.Resume)
	set("SuspendTimeout", t.Suspend)
	set("SlurmdTimeout", t.NodeSilence)
	set("SlurmctldTimeout", t.NodeSilence)
	set("MessageTimeout", t.Message)
	set("BatchStartTimeout", t.BatchStart)
	set("AuthInfo", "cred_expire="+strconv.Itoa(t.Credential))
}

// scheduler is how often slurmctld looks at the queue.
func (t Timers) scheduler() string {
	return "sched_interval=" + strconv.Itoa(t.Scheduler) + ",bf_interval=" + strconv.Itoa(t.Backfill) + ",batch_sched_delay=0"
}
