package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/status"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

func node(name, state, reason string) slurm.Node {
	return slurm.Node{Name: name, State: slurm.ParseNodeState(state), Reason: reason}
}

// answers is a Slurm that says what is written down.
type answers map[string]string

func (a answers) Run(_ context.Context, name string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	for end, text := range a {
		if strings.HasSuffix(line, end) {
			return []byte(text), nil
		}
	}
	return nil, &slurm.ProgramError{Program: line, Stderr: "Unable to contact slurm controller (connect failure)", Err: errors.New("exit status 1")}
}

func TestStatusSaysWhatNeedsALook(t *testing.T) {
	s := status.Cluster{
		Name: "demo", State: "starting", File: "/w/demo.yaml", Dir: "/run/demo", User: "alice", Since: now.Add(-time.Hour),
		Services: []status.Service{
			{Name: "munged", Phase: status.Ready, Since: now.Add(-time.Hour)},
			{Name: "slurmctld", Phase: status.Ready, Since: now.Add(-time.Minute), Restarts: 1, Last: "ended by signal SIGKILL"},
			{Name: "s3", Phase: "waiting", Since: now.Add(-5 * time.Second), Restarts: 3, Last: "ended with exit code 1"},
		},
		Jobs:   status.CountJobs([]slurm.Job{{State: "RUNNING"}, {State: "PENDING"}, {State: "PENDING"}, {State: "CONFIGURING"}, {State: "COMPLETED"}}),
		Mounts: []status.Mount{{Path: "/fsx1", UsedBytes: 3 << 30, AtLeast: true, FreeBytes: 1 << 40}},
		S3:     &status.S3{Endpoint: "http://10.0.0.1:9000", Buckets: []string{"data", "results"}},
		Blind:  []string{"x: y"},
		Exports: []client.ExportStatus{
			{Path: "/fsx1/out", Bucket: "b", Prefix: "p/", Export: true, Pending: 2, Exported: 7},
			{Path: "/fsx1/lost", Bucket: "b", Prefix: "q/", Export: true, PendingUnknown: true, Error: "not found"},
			{Path: "/fsx1/gone", Bucket: "b", Prefix: "r/", Export: true, Pending: 1, PendingBytes: 7, PendingUnknown: true, Error: "not found"},
			{Path: "/fsx1/in", Bucket: "b", Import: true, Imported: 1},
			{Path: "/fsx1/less", Bucket: "b", Import: true, Imported: 1, Removed: 2},
			{Path: "/fsx1/ck", Bucket: "b", Export: true, Pending: 9, PendingBytes: 3 << 29, Blocked: 1, Error: "no answer", LastSuccess: now.Add(-time.Minute),
				Uploading: []client.Uploading{{Path: "m.bin", SizeBytes: 2 << 30, SentBytes: 1 << 29, Since: now.Add(-5 * time.Second)}, {Path: "n"}}},
		},
	}
	s.JudgeNodes([]slurm.Node{
		node("q-dy-n-1", "IDLE+CLOUD", ""), node("q-dy-n-2", "DOWN+CLOUD", "power cut"), node("q-dy-n-3", "DOWN+CLOUD", "power cut"),
		node("q-dy-n-4", "IDLE+CLOUD+DRAIN", "bad\x1bGPU"), node("q-dy-n-5", "IDLE+CLOUD+POWERED_DOWN", ""),
	})
	var b strings.Builder
	if err := (statusAnswer{Clusters: []status.Cluster{s}}).write(&b, now); err != nil {
		t.Fatal(err)
	}
	want := `demo        starting for 1 h 0 min, made by alice
  file      /w/demo.yaml
  folder    /run/demo
  services  munged ready
            slurmctld ready for 1 min, restarted once, its last run ended by signal SIGKILL
            s3 waiting for 5 s, restarted 3 times, its last run ended with exit code 1
  nodes     5 in all
            1 idle: q-dy-n-1
            1 powered down: q-dy-n-5
            1 drained: q-dy-n-4
            2 down: q-dy-n-[2-3]
  jobs      1 running, 1 starting, 2 pending
  mounts    /fsx1: at least 3.0 GiB used, 1.0 TiB free
  S3        http://10.0.0.1:9000, 2 buckets: data, results
  exports   /fsx1/out -> s3://b/p/: 2 waiting, 7 exported
            /fsx1/lost -> s3://b/q/: unknown how many wait, 0 exported
            /fsx1/gone -> s3://b/r/: 1 waiting (7 B), maybe more, 0 exported
            /fsx1/in <- s3://b/: 1 imported
            /fsx1/less <- s3://b/: 1 imported, 2 deleted as in the bucket
            /fsx1/ck -> s3://b/: 9 waiting (1.5 GiB), 1 of them cannot be exported, sending m.bin (512 MiB of 2.0 GiB, for 5 s) and 1 more, all was well 1 min ago, 0 exported
  look at   q-dy-n-[2-3]: down: power cut
            q-dy-n-4: drained: bad\x1bGPU
            to take nodes back into service: muster exec -- scontrol update NodeName=NAMES State=RESUME
  blind     x: y
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodesTable(t *testing.T) {
	busy := node("q-dy-n-1", "MIXED+CLOUD", "")
	busy.CPUs, busy.CPUsAllocated, busy.MemoryMiB, busy.AllocatedMemoryMiB = 192, 2, 2<<20, 1<<20
	busy.CfgTRES, busy.AllocTRES, busy.Address = "cpu=192,gres/gpu=8", "cpu=2,gres/gpu=4", "10.99.0.2"
	answer := joinNodes([]slurm.Node{busy, node("q-dy-n-2", "DOWN+CLOUD", "power cut"), node("q-dy-n-3", "IDLE+CLOUD+POWERED_DOWN", ""), node("q-dy-n-4", "IDLE+CLOUD+POWERED_DOWN", "")},
		map[string]place.Process{"q-dy-n-1": {PID: 4711, Started: now.Add(-48 * time.Hour)}})
	for _, row := range []struct {
		name string
		all  bool
		want string
	}{
		{"short", false, `NODE      STATE  CPUS   MEM              GPUS  ADDRESS    PID   UP SINCE             REASON
q-dy-n-1  mixed  2/192  1.0 TiB/2.0 TiB  4/8   10.99.0.2  4711  2025-12-31 12:00:00
q-dy-n-2  down   0/0    0 B/0 B          0/0                                         power cut
2 nodes powered down: q-dy-n-[3-4]
`},
		{"all", true, `NODE      STATE         CPUS   MEM              GPUS  ADDRESS    PID   UP SINCE             REASON
q-dy-n-1  mixed         2/192  1.0 TiB/2.0 TiB  4/8   10.99.0.2  4711  2025-12-31 12:00:00
q-dy-n-2  down          0/0    0 B/0 B          0/0                                         power cut
q-dy-n-3  powered down  0/0    0 B/0 B          0/0
q-dy-n-4  powered down  0/0    0 B/0 B          0/0
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b strings.Builder
			if err := answer.write(&b, row.all, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
