package test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider/providertest"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/test/freeport"
)

// realSlurm starts a slurmctld with two compute resources of cloud nodes, of
// which it prefers r. There is no slurmd.
func realSlurm(t *testing.T) slurm.Client {
	t.Helper()
	need(t)
	port := freeport.OnLoopback(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	dir := t.TempDir()
	conf := filepath.Join(dir, "slurm.conf")
	text := fmt.Sprintf(realConf, host, port, os.Getuid(), dir)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/sbin/slurmctld", "-D", "-f", conf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c := slurm.Client{Runner: slurm.Exec{Conf: conf}}
	soon(t, 20*time.Second, "there", func() bool { return c.Ping(t.Context()) == nil })
	return c
}

const realConf = `ClusterName=t
SlurmctldHost=%s(127.0.0.1)
SlurmctldPort=%d
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
SlurmUser=%d
StateSaveLocation=%[4]s
SlurmctldPidFile=%[4]s/pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=2,batch_sched_delay=0
PrivateData=cloud
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=600
SuspendTimeout=2
ResumeTimeout=120
ResumeRate=0
SuspendRate=0
SlurmctldParameters=idle_on_node_suspend,power_save_interval=1
NodeName=q-dy-r-[1-4] NodeAddr=127.0.1.[1-4] CPUs=2 State=CLOUD Feature=dynamic,r Weight=1
NodeName=q-dy-s-[1-4] NodeAddr=127.0.2.[1-4] CPUs=2 State=CLOUD Feature=dynamic,s Weight=9
PartitionName=q Nodes=q-dy-r-[1-4],q-dy-s-[1-4] State=UP Default=YES
`

// Real Slurm takes the next compute resource when the first has nothing, and
// hears where the nodes answer.
func TestFailover(t *testing.T) {
	t.Parallel()
	client := realSlurm(t)
	names, err := slurm.Expand("q-dy-r-[1-4],q-dy-s-[1-4]")
	if err != nil {
		t.Fatal(err)
	}
	place := providertest.New(names...)
	place.Addressed()
	place.Room("q-dy-r-", 2)
	events, err := controller.OpenEvents(filepath.Join(t.TempDir(), "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	c := controller.New(controller.Config{
		Fleet: place, Slurm: client, Jobs: client, Partitions: client, Addresses: client, Events: events, Log: slog.New(slog.DiscardHandler),
		Limits: fleet.Limits{Boot: time.Minute, Retry: time.Minute, Short: time.Minute},
		Pace:   controller.Pace{Quiet: 200 * time.Millisecond},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	script := filepath.Join(t.TempDir(), "job")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsleep 60\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := client.Submit(t.Context(), slurm.SubmitOptions{Script: script, Flags: []string{"--nodes=3", "--ntasks-per-node=2", "--output=/dev/null"}})
	if err != nil {
		t.Fatal(err)
	}
	soon(t, 3*time.Minute, "on the other resource", func() bool {
		j, err := client.Job(t.Context(), id)
		return err == nil && j.NodeList == "q-dy-s-[1-3]" && place.Started() == 3
	})
	soon(t, 10*time.Second, "told of the addresses", func() bool { return addressOf(t, client, "q-dy-s-2") == "127.1.0.2" })
	var all []slurm.Node
	soon(t, time.Minute, "answering", func() bool { // slurmctld is slow where a slurmd does not answer
		all, err = client.Nodes(t.Context())
		return err == nil
	})
	for _, n := range all {
		if strings.HasPrefix(n.Name, "q-dy-r-") && !n.State.Down() {
			t.Errorf("%s is %s", n.Name, n.State)
		}
	}
	if n := place.Started(); n != 3 {
		t.Errorf("%d instances were started for a job of three", n)
	}
}

func addressOf(t *testing.T, c slurm.Client, node string) string {
	t.Helper()
	all, err := c.Nodes(t.Context())
	if err != nil {
		return "" // slurmctld is slow where a slurmd does not answer
	}
	for _, n := range all {
		if n.Name == node {
			return n.Address
		}
	}
	return ""
}

// soon waits until something is true, for patience at least.
func soon(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	limit = max(limit, patience)
	for deadline := time.Now().Add(limit); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within %s", what, limit)
		}
		<-time.After(50 * time.Millisecond)
	}
}
