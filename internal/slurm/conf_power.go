package slurm

import "strings"

func (c Config) power(set func(string, any)) {
	set("PrivateData", "cloud") // sinfo shows nodes that are powered down
	set("ResumeProgram", c.ResumeProgram)
	set("SuspendProgram", c.SuspendProgram)
	set("PrologSlurmctld", c.JobProlog)
	// While it runs, a job stays completing. Without one, a job whose nodes all go down at
	// once returns to the queue with the GPUs of its former run (22.05 to 24.05), and its next
	// run gets no step.
	if !c.customised("EpilogSlurmctld") {
		set("EpilogSlurmctld", "/bin/true")
	}
	if c.RebootProgram != "" && !c.customised("RebootProgram") {
		set("RebootProgram", c.RebootProgram)
	}
	if c.NodeProlog != "" {
		set("Prolog", c.NodeProlog)
		// On all of a job's nodes when it gets them. Otherwise the nodes beside the first run it at their first step, and one
		// that fails there is an srun that fails, instead of a job that is queued again.
		if !c.customised("PrologFlags") {
			set("PrologFlags", "Alloc")
		}
	}
	if c.NodeEpilog != "" {
		set("Epilog", c.NodeEpilog)
	}
	c.health(set)
	set("SuspendTime", c.idle())
	set("ResumeRate", 0)
	set("SuspendRate", 0)
	if static := c.static(); len(static) > 0 {
		set("SuspendExcNodes", strings.Join(static, ","))
	}
}

// health has idle nodes look at themselves, a few at a time: jobs are left alone. A program of the user's own takes its place.
func (c Config) health(set func(string, any)) {
	if c.NodeHealth == "" || c.customised("HealthCheckProgram") {
		return
	}
	set("HealthCheckProgram", c.NodeHealth)
	if !c.customised("HealthCheckInterval") {
		set("HealthCheckInterval", 300)
	}
	if !c.customised("HealthCheckNodeState") {
		set("HealthCheckNodeState", "IDLE,CYCLE")
	}
}

// never is longer than a cluster lives. For a negative SuspendTime Slurm does without
// power saving, and starts no node either.
const never = 10 * 365 * 24 * 3600

func (c Config) idle() int {
	if c.IdleSeconds < 0 {
		return never
	}
	return c.IdleSeconds
}

func (c Config) static() []string {
	var lists []string
	for _, g := range c.Groups {
		if g.Static {
			lists = append(lists, g.List())
		}
	}
	return lists
}
