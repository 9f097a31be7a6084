package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// queue and resource are the one compute resource of the cluster, in the names that
// ParallelCluster gives nodes: queue-dy-resource-1.
const (
	cluster  = "bench"
	queue    = "q1"
	resource = "p5"
)

// slurm is a slurmctld of its own, with nodes in the cloud and no slurmd.
type slurm struct {
	dir string
	// env are variables by which Slurm's programs find it.
	env   []string
	ctld  *exec.Cmd
	ended chan error
}

const conf = `ClusterName=bench
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmctldLogFile=%[2]s/slurmctld.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
ReturnToService=1
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PrivateData=cloud
SlurmctldParameters=idle_on_node_suspend
ResumeProgram=%[2]s/resume.sh
SuspendProgram=/bin/true
ResumeTimeout=1800
SuspendTimeout=120
SuspendTime=600
ResumeRate=0
SuspendRate=0
TreeWidth=65533
NodeName=%[5]s-dy-%[6]s-[1-%[7]d] CPUs=4 State=CLOUD
PartitionName=%[5]s Nodes=ALL Default=YES State=UP OverSubscribe=EXCLUSIVE MaxTime=INFINITE
`

// resumeProgram keeps what slurmctld asks for, for those who are measured.
const resumeProgram = `#!/bin/bash
cp "$SLURM_RESUME_FILE" %[1]s/resume/$$.tmp && mv %[1]s/resume/$$.tmp %[1]s/resume/$$.json
`

// startSlurm runs a slurmctld without memory of earlier ones.
func startSlurm(ctx context.Context, dir string, nodes int) (*slurm, error) {
	s := &slurm{dir: dir, env: append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf")), ended: make(chan error, 1)}
	for _, sub := range []string{"state", "spool", "resume"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	host, _, _ = strings.Cut(host, ".")
	ports, err := freePorts(ctx)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(conf, host, dir, ports[0], ports[1], queue, resource, nodes)
	if err := os.WriteFile(filepath.Join(dir, "slurm.conf"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "resume.sh"), fmt.Appendf(nil, resumeProgram, dir), 0o755); err != nil {
		return nil, err
	}
	s.ctld = exec.CommandContext(ctx, "slurmctld", "-D", "-c", "-f", filepath.Join(dir, "slurm.conf"))
	s.ctld.Env = s.env
	if err := s.ctld.Start(); err != nil {
		return nil, fmt.Errorf("start slurmctld: %w", err)
	}
	go func() { s.ended <- s.ctld.Wait() }()
	if err := s.await(ctx, "slurmctld to answer", func() (bool, error) {
		_, err := s.command(ctx, "scontrol", "ping")
		return err == nil, nil
	}); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// stop ends slurmctld and waits for it.
func (s *slurm) stop() error {
	if err := s.ctld.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	<-s.ended // a daemon that was asked to end may say so with an exit code
	return nil
}

// command is what one of Slurm's programs prints.
func (s *slurm) command(ctx context.Context, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = s.env
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// await looks until something is so, for a minute at most.
func (s *slurm) await(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("waited a minute for %s", what))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// job is a job of a resume file, with the nodes that it waits for.
type job struct {
	ID    int    `json:"job_id"`
	Nodes string `json:"nodes"`
}

// submit queues jobs of some nodes each, lets them all begin at once, and returns
// what slurmctld then wants resumed.
func (s *slurm) submit(ctx context.Context, jobs, nodesEach int) ([]job, error) {
	var ids []string
	for range jobs {
		out, err := s.command(ctx, "sbatch", "--parsable", "--hold", "--nodes", fmt.Sprint(nodesEach), "--output", "/dev/null", "--wrap", "true")
		if err != nil {
			return nil, err
		}
		ids = append(ids, strings.TrimSpace(out))
	}
	if _, err := s.command(ctx, "scontrol", "release", strings.Join(ids, ",")); err != nil {
		return nil, err
	}
	var wanted []job
	err := s.await(ctx, "slurmctld to resume nodes", func() (bool, error) {
		var err error
		wanted, err = s.wanted()
		return len(wanted) == jobs, err
	})
	return wanted, err
}

// wanted are the jobs of all resume files so far.
func (s *slurm) wanted() ([]job, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "resume", "*.json"))
	if err != nil {
		return nil, err
	}
	var all []job
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var have struct{ Jobs []job }
		if err := json.Unmarshal(text, &have); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, have.Jobs...)
	}
	return all, nil
}

// node is what Slurm says of a node.
type node struct{ name, address, state string }

var nodeLine = regexp.MustCompile(`NodeName=(\S+) .*?NodeAddr=(\S+) .*?State=(\S+)`)

func (s *slurm) nodes(ctx context.Context) ([]node, error) {
	out, err := s.command(ctx, "scontrol", "--oneliner", "show", "nodes")
	if err != nil {
		return nil, err
	}
	var all []node
	for line := range strings.Lines(out) {
		if m := nodeLine.FindStringSubmatch(line); m != nil {
			all = append(all, node{m[1], m[2], m[3]})
		}
	}
	return all, nil
}
