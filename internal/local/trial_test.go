package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestRefusal(t *testing.T) {
	custom := []spec.Setting{{Key: "TopologyPlugin", Value: "topology/tree"}, {Key: "Foo", Value: "1"}, {Key: "SelectType", Value: "select/none"}}
	for i := range custom {
		custom[i].Place = diag.Place{File: "c.yaml", Line: 10 + i, Column: 7}
	}
	const at = " (c.yaml:1%d:7: %s)"
	for _, row := range []struct {
		name string
		said []string
		want string // empty is no refusal
	}{
		{"runs", []string{"error: Configured MailProg is invalid", trialPrimary}, ""},
		{"late", []string{trialPrimary, "error: cannot create select context", "fatal: failed to initialize"}, "failed to initialize; cannot create select context"},
		{"said_nothing", nil, ""},
		{"said_nothing_of_weight", []string{"slurmctld version 22.05.8 started on cluster c"}, ""},
		{"unknown_key", []string{"error: _parse_next_key: Parsing error at unrecognized key: Foo", "fatal: Unable to process configuration file"},
			"Unable to process configuration file; _parse_next_key: Parsing error at unrecognized key: Foo" + fmt.Sprintf(at, 1, "Foo")},
		{"unknown_plugin", []string{"error: SelectType 1 specified more than once, latest value used", "fatal: Can't find plugin for select/none"},
			"Can't find plugin for select/none" + fmt.Sprintf(at, 2, "SelectType")},
		{"no_file", []string{"error: s_p_parse_file: cannot stat file /r/trial/topology.conf: No such file or directory, retrying in 1sec up to 60sec"},
			"s_p_parse_file: cannot stat file /etc/slurm/topology.conf: No such file or directory" + fmt.Sprintf(at, 0, "TopologyPlugin")},
		{"lacks_what_a_trial_lacks", []string{"fatal: slurmdbd is required to run with TRES gres/gpu"}, ""},
		{"cannot_be_read", []string{"error: s_p_parse_file: cannot stat file /r/trial/slurm.conf: Permission denied, retrying in 1sec up to 60sec"}, ""},
		{"of_nobody", []string{"fatal: out of luck"}, "out of luck"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, want := "", row.want
			if err := refusal(row.said, "/r/trial", custom); err != nil {
				got = err.Error()
			}
			if want != "" {
				want = "slurmctld refuses this configuration, and nothing was changed: " + want
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestListen(t *testing.T) {
	const runs = "debug3: _slurmctld_background pid = 1"
	for _, row := range []struct {
		name, says string
		want       []string
		primary    bool
	}{
		{"runs", "a\ndebug:  b\n" + trialPrimary + "\ndebug2: c\n" + runs + "\nerror: d\n", []string{"a", trialPrimary, runs}, true},
		{"dies_late", trialPrimary + "\nerror: a\nfatal: b\ndebug:  c\n", []string{trialPrimary, "error: a", "fatal: b"}, true},
		{"says_less", trialPrimary + "\n", []string{trialPrimary}, true},
		{"dies_early", "fatal: a\n" + trialPrimary + "\n", []string{"fatal: a"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			primary := false
			says := "slurmctld: " + strings.ReplaceAll(strings.TrimSpace(row.says), "\n", "\nslurmctld: ") + "\n"
			got := listen(strings.NewReader(says), func() { primary = true })
			if diff := cmp.Diff(row.want, got); diff != "" || primary != row.primary {
				t.Errorf("primary %t, (-want +got):\n%s", primary, diff)
			}
		})
	}
}

func TestHopelessIn(t *testing.T) {
	const dies = "[now] error: a\n[now] fatal: cannot do this\n"
	for _, row := range []struct{ name, log, want string }{
		{"nothing", "", ""},
		{"once", dies, ""},
		{"twice", dies + "[then] started\n" + dies, "slurmctld does not start: cannot do this"},
		{"twice_for_other_reasons", dies + "fatal: nor that\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ""
			if err := hopelessIn(row.log); err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestTried has the real slurmctld try configurations, and looks that nothing of it
// stays.
func TestTried(t *testing.T) {
	if _, err := os.Stat("/usr/sbin/slurmctld"); err != nil || os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("it must be root's, and slurmctld be there")
		}
		t.Skip("needs root and slurmctld")
	}
	for _, row := range []struct {
		name string
		set  spec.Setting
		want string // a part of it, empty for none
	}{
		{"good", spec.Setting{Key: "PriorityType", Value: "priority/multifactor"}, ""},
		{"gpus_are_counted", spec.Setting{Key: "AccountingStorageTRES", Value: "gres/gpu,cpu"}, ""},
		{"weights_of_gpus", spec.Setting{Key: "PriorityWeightTRES", Value: "CPU=1,gres/gpu=2"}, ""},
		{"weights_of_gpus_alone", spec.Setting{Key: "PriorityWeightTRES", Value: "gres/gpu=2"}, ""},
		{"limits", spec.Setting{Key: "AccountingStorageEnforce", Value: "limits"}, ""},
		{"misspelt", spec.Setting{Key: "PriorityTyp", Value: "x"}, "unrecognized key: PriorityTyp (c.yaml:12:8: PriorityTyp)"},
		{"no_number", spec.Setting{Key: "MaxJobCount", Value: "many"}, "MaxJobCount value (many) is not a valid number (c.yaml:12:8: MaxJobCount)"},
		{"no_plugin", spec.Setting{Key: "SchedulerType", Value: "sched/none"}, "nitialize sched plugin"},
		{"no_priorities", spec.Setting{Key: "PriorityType", Value: "priority/nosuch"}, "cannot create priority context for priority/nosuch (c.yaml:12:8: PriorityType)"},
		{"no_burst_buffer", spec.Setting{Key: "BurstBufferType", Value: "burst_buffer/nosuch"}, "cannot create burst_buffer context for burst_buffer/nosuch (c.yaml:12:8: BurstBufferType)"},
		{"no_file", spec.Setting{Key: "TopologyPlugin", Value: "topology/tree"}, "cannot stat file /etc/slurm/topology.conf"},
		{"ours", spec.Setting{Key: "StateSaveLocation", Value: "/etc"}, "StateSaveLocation cannot be set for a cluster on this machine, which has its own"},
		{"ours_in_any_letters", spec.Setting{Key: "authtype", Value: "auth/none"}, "c.yaml:12:8: authtype cannot be set"},
	} {
		t.Run(row.name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.Chmod(filepath.Dir(home), 0o700); err != nil { // as that of many a user
				t.Fatal(err)
			}
			text := trialFile + fmt.Sprintf("  SlurmSettings:\n    CustomSlurmSettings:\n    - {%s: '%s'}\n", row.set.Key, row.set.Value)
			file, problems := spec.Parse("c.yaml", []byte(text))
			if problems.HasErrors() {
				t.Fatal(problems.All())
			}
			ref := Ref{Home: home, Name: "u"}
			u := &up{UpOptions: UpOptions{Ref: ref, File: file, Workload: &spec.Workload{}}, layout: ref.Layout()}
			err := u.prepared(t.Context())
			switch {
			case row.want == "" && err != nil, row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want %q", err, row.want)
			}
			left, _ := filepath.Glob(filepath.Join(home, "u", trialDir))
			if row.want != "" {
				left, _ = filepath.Glob(filepath.Join(home, "*"))
			}
			if diff := cmp.Diff([]string(nil), left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

const trialFile = `Region: us-east-1
Image: {Os: alinux2023}
HeadNode: {InstanceType: c6i.4xlarge, Networking: {SubnetId: subnet-0123456789abcdef0}}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
  - Name: gpu
    Networking: {SubnetIds: [subnet-0123456789abcdef0]}
    ComputeResources: [{Name: n, InstanceType: p5e.48xlarge, MinCount: 1, MaxCount: 4}]
`
