package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/supervise"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

func node(name, state, reason string) slurm.Node {
	return slurm.Node{Name: name, State: slurm.ParseNodeState(state), Reason: reason}
}

func TestNodeState(t *testing.T) {
	for slurmState, want := range map[string]string{
		"IDLE+CLOUD":                                 "idle",
		"IDLE+CLOUD+POWERED_DOWN":                    "powered down",
		"IDLE+CLOUD+POWERING_DOWN":                   "powering down",
		"IDLE+CLOUD+POWERING_UP":                     "powering up",
		"ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP": "powering up",
		"ALLOCATED+CLOUD":                            "allocated",
		"MIXED+CLOUD":                                "mixed",
		"IDLE+COMPLETING":                            "completing",
		"MIXED+CLOUD+DRAIN":                          "draining",
		"IDLE+CLOUD+DRAIN":                           "drained",
		"IDLE+CLOUD+DRAIN+POWERED_DOWN":              "drained",
		"DOWN+CLOUD":                                 "down",
		"DOWN+CLOUD+POWERED_DOWN":                    "down",
		"DOWN+CLOUD+POWERING_DOWN":                   "powering down",
		"IDLE+CLOUD+NOT_RESPONDING":                  "not responding",
		"IDLE+MAINTENANCE+RESERVED":                  "maintenance",
		"SOMETHING_NEW":                              "unknown",
	} {
		got := nodeState(slurm.ParseNodeState(slurmState))
		if got != want {
			t.Errorf("%s is %q, want %q", slurmState, got, want)
		}
		if !slices.Contains(nodeStates, got) {
			t.Errorf("%q is not in nodeStates and would not be shown", got)
		}
	}
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

func TestStatusIsBlindForWhatDoesNotAnswer(t *testing.T) {
	var s clusterStatus
	s.lookAtSlurm(t.Context(), slurm.Client{Runner: answers{}})
	want := clusterStatus{Blind: []string{
		"nodes: scontrol --oneliner --all --detail show node: Unable to contact slurm controller (connect failure)",
		"jobs: scontrol --oneliner --all show job: Unable to contact slurm controller (connect failure)",
	}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusSaysWhatNeedsALook(t *testing.T) {
	s := clusterStatus{
		Name: "demo", State: "starting", File: "/w/demo.yaml", Dir: "/run/demo", User: "alice", Since: now.Add(-time.Hour),
		Services: []serviceStatus{
			{Name: "munged", Phase: serviceReady, Since: now.Add(-time.Hour)},
			{Name: "slurmctld", Phase: serviceReady, Since: now.Add(-time.Minute), Restarts: 1, Last: "ended by signal SIGKILL"},
			{Name: "s3", Phase: "waiting", Since: now.Add(-5 * time.Second), Restarts: 3, Last: "ended with exit code 1"},
		},
		Jobs:   countJobs([]slurm.Job{{State: "RUNNING"}, {State: "PENDING"}, {State: "PENDING"}, {State: "CONFIGURING"}, {State: "COMPLETED"}}),
		Mounts: []mountStatus{{Path: "/fsx1", UsedBytes: 3 << 30, AtLeast: true, FreeBytes: 1 << 40}},
		S3:     &s3Status{Endpoint: "http://10.0.0.1:9000", Buckets: []string{"data", "results"}},
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
	s.judgeNodes([]slurm.Node{
		node("q-dy-n-1", "IDLE+CLOUD", ""), node("q-dy-n-2", "DOWN+CLOUD", "power cut"), node("q-dy-n-3", "DOWN+CLOUD", "power cut"),
		node("q-dy-n-4", "IDLE+CLOUD+DRAIN", "bad\x1bGPU"), node("q-dy-n-5", "IDLE+CLOUD+POWERED_DOWN", ""),
	})
	var b strings.Builder
	if err := (statusAnswer{Clusters: []clusterStatus{s}}).write(&b, now); err != nil {
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

func TestStatusOfServices(t *testing.T) {
	l := &nodes.Layout{Dir: t.TempDir()}
	var s clusterStatus
	s.lookAtServices(l, now)
	if s.State != "starting" || len(s.Blind) != 1 {
		t.Errorf("without a status file: %+v", s)
	}
	status := []supervise.Status{{Name: "s3", Phase: supervise.Starting, Since: now.Add(-2 * time.Minute), Last: "ended with exit code 1"}}
	if err := os.MkdirAll(l.Path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := nodes.WriteJSON(l.Path("run", "services.json"), status); err != nil {
		t.Fatal(err)
	}
	s = clusterStatus{}
	s.lookAtServices(l, now)
	want := []string{"service s3 is starting since 2 min, its last run ended with exit code 1; see " + l.Path("log", "s3.log")}
	if diff := cmp.Diff(want, s.Look); diff != "" || s.State != "starting" {
		t.Errorf("state %s (-want +got):\n%s", s.State, diff)
	}
	status[0].Phase = supervise.Ready
	if err := nodes.WriteJSON(l.Path("run", "services.json"), status); err != nil {
		t.Fatal(err)
	}
	s = clusterStatus{}
	s.lookAtServices(l, now)
	if s.State != "up" || len(s.Look) > 0 {
		t.Errorf("with all ready: %+v", s)
	}
}

func TestStatusOfHangingMachines(t *testing.T) {
	var s clusterStatus
	s.judgeMachines([]nodes.Hung{{PID: 7}, {Node: "q-st-r-1", PID: 9}}, nil)
	s.judgeMachines(nil, errors.New("no such process"))
	want := clusterStatus{Look: []string{
		"the head node is hanging: a signal stopped its first process; `kill -CONT 7` lets it go on",
		"node q-st-r-1 is hanging: a signal stopped its first process; `kill -CONT 9` lets it go on",
	}, Blind: []string{"machines: no such process"}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusOfADeadCluster holds that files whose way into a bucket nobody can tell are not passed over.
func TestStatusOfADeadCluster(t *testing.T) {
	example, err := os.ReadFile("../../examples/demo/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"linked": "shared/fsx2", "not_linked": "shared/fsx1"} {
		t.Run(name, func(t *testing.T) {
			ref := local.Ref{Home: t.TempDir(), Name: "u"}
			l := ref.Layout()
			err := os.MkdirAll(l.Path(dir), 0o755)
			for file, text := range map[string]string{"cluster.yaml": string(example), "cluster.json": "{}", dir + "/weights": "x"} {
				err = errors.Join(err, os.WriteFile(l.Path(file), []byte(text), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if name == "linked" {
				want = []string{"exports: nobody knows what is not in the buckets yet: the cluster does not run"}
			}
			if diff := cmp.Diff(want, lookAt(t.Context(), ref).Blind); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiskUseCountsFilesOnDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "c"), make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, atLeast := diskUse(t.Context(), dir); atLeast || got < 1<<20 || got > 2<<20 {
		t.Errorf("a MiB takes %d bytes, at least: %t", got, atLeast)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, atLeast := diskUse(ctx, dir); !atLeast {
		t.Error("a count that was stopped is taken for whole")
	}
}

func TestNodesTable(t *testing.T) {
	busy := node("q-dy-n-1", "MIXED+CLOUD", "")
	busy.CPUs, busy.CPUsAllocated, busy.MemoryMiB, busy.AllocatedMemoryMiB = 192, 2, 2<<20, 1<<20
	busy.CfgTRES, busy.AllocTRES, busy.Address = "cpu=192,gres/gpu=8", "cpu=2,gres/gpu=4", "10.99.0.2"
	answer := joinNodes([]slurm.Node{busy, node("q-dy-n-2", "DOWN+CLOUD", "power cut"), node("q-dy-n-3", "IDLE+CLOUD+POWERED_DOWN", ""), node("q-dy-n-4", "IDLE+CLOUD+POWERED_DOWN", "")},
		[]provider.Instance{{Node: "q-dy-n-1", ID: "4711", Started: now.Add(-48 * time.Hour)}})
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
