package job_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

//go:embed testdata/slurm-22.05-25.11/reasons.txt
var slurmReasons string

// Each reason that Slurm has, of all versions that are spoken, has words of its own: none is only repeated.
func TestWhy_has_words_for_each_reason_of_Slurm(t *testing.T) {
	seen := 0
	for line := range strings.Lines(slurmReasons) {
		reason := strings.TrimSpace(line)
		if reason == "" || reason[0] == '#' || reason == "None" { // which Slurm's output says as no reason
			continue
		}
		seen++
		text := job.Why(slurm.Job{ID: 7, State: "PENDING", Reason: reason})
		if strings.HasPrefix(text, "waits (") || strings.Contains(text, "a limit was reached") || strings.Contains(text, "  ") {
			t.Errorf("%s: %s", reason, text)
		}
	}
	if seen < 200 {
		t.Errorf("the list has %d reasons", seen)
	}
}

func TestWhy_of_limits(t *testing.T) {
	for reason, want := range map[string]string{
		"AssocGrpGRES":                     "waits: the running jobs of its account have all the GPUs or other GRES that they may have together (AssocGrpGRES)",
		"AssocGrpGRESRunMinutes":           "waits: the running jobs of its account may take all the GPUs or other GRES times minutes that they may have ahead of them at once (AssocGrpGRESRunMinutes)",
		"AssocGrpCPUMinutesLimit":          "waits: the jobs of its account have used all the CPUs times minutes that they may (AssocGrpCPUMinutesLimit)",
		"AssocMaxJobsLimit":                "waits: as many jobs of its user in its account run as may at once (AssocMaxJobsLimit)",
		"AssocMaxWallDurationPerJobLimit":  "waits: it asks for more time than a job of its account may (AssocMaxWallDurationPerJobLimit)",
		"QOSMaxJobsPerUserLimit":           "waits: as many of its user's jobs in its QOS run as may at once (QOSMaxJobsPerUserLimit)",
		"QOSMaxGRESPerUser":                "waits: its user's jobs in its QOS have all the GPUs or other GRES that they may have (QOSMaxGRESPerUser)",
		"QOSMinCpuNotSatisfied":            "waits: it asks for less than a job of its QOS must: CPUs (QOSMinCpuNotSatisfied)",
		"MaxNodePerAccount":                "waits: its account's jobs in its QOS have all the nodes that they may have (MaxNodePerAccount)",
		"QOSGrpSubmitJobsLimit":            "waits: the jobs of its QOS that wait and run are as many as they may be (QOSGrpSubmitJobsLimit)",
		"InvalidAccount":                   "waits because its account is invalid",
		"QOSGrpNovelty":                    "waits because a limit was reached (QOSGrpNovelty)",
		"ReqNodeNotAvail(Unavailable:q-1)": "waits for nodes that are not available (Unavailable:q-1)",
		"SomethingNew_of_it":               "waits (SomethingNew of it)",
	} {
		if got := job.Why(slurm.Job{ID: 7, State: "PENDING", Reason: reason}); got != want {
			t.Errorf("%s:\n got %s\nwant %s", reason, got, want)
		}
	}
}
