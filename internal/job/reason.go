package job

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// waits are Slurm's reasons for a job to wait, in plain words. They go on from
// "the job".
var waits = map[string]string{
	"":                            "waits for Slurm to look at it",
	"Resources":                   "waits for free nodes",
	"Priority":                    "waits behind jobs of higher priority",
	"JobHeldAdmin":                "is held by an administrator",
	"DependencyNeverSatisfied":    "never starts: a job that it depends on did not end as it should",
	"PartitionDown":               "waits because its partition is down",
	"PartitionInactive":           "waits because its partition is inactive; `muster fleet start` lets a stopped fleet run",
	"PartitionNodeLimit":          "waits because it asks for more nodes than its partition allows",
	"PartitionTimeLimit":          "waits because it asks for more time than its partition allows",
	"JobArrayTaskLimit":           "waits because as many tasks of its array run as may at once",
	"BadConstraints":              "never starts: no node fits what it asks for",
	"Licenses":                    "waits for licenses",
	"Reservation":                 "waits for its reservation to begin",
	"ReservationDeleted":          "never starts: its reservation is gone",
	"Cleaning":                    "waits while its last run is cleaned up",
	"Prolog":                      "waits for the prolog to end",
	"JobLaunchFailure":            "is held: it could not be started on its nodes",
	"launch_failed_requeued_held": "is held: it could not be started on its nodes",
	"JobHoldMaxRequeue":           "is held: it was put back into the queue too often",
	"InactiveLimit":               "waits because the system's inactive limit was reached",
	"InvalidAccount":              "waits because its account is invalid",
	"InvalidQOS":                  "waits because its QOS is invalid",
	"AssociationJobLimit":         "waits because its account runs as many jobs as it may",
	"FrontEndDown":                "waits because no front end answers",
}

// Why says why a pending job waits. It goes on from "the job".
func Why(j slurm.Job) string {
	reason, detail, _ := strings.Cut(j.Reason, "(")
	reason, _, _ = strings.Cut(reason, ",")
	reason = strings.TrimSpace(reason)
	if text, ok := waits[reason]; ok {
		return text
	}
	switch {
	case reason == "BeginTime":
		return "waits until " + clock(j.EligibleTime) + " before it may start"
	case reason == "Dependency":
		return "waits for other jobs" + because(j.Dependency)
	case reason == "JobHeldUser":
		return fmt.Sprintf("is held; `scontrol release %d` lets it go", j.ID)
	case strings.HasPrefix(reason, "Nodes_required_for_job_are_DOWN"):
		return "waits for nodes that are down, drained or reserved"
	case strings.HasPrefix(reason, "ReqNodeNotAvail"):
		return "waits for nodes that are not available" + because(strings.TrimSuffix(detail, ")"))
	case strings.HasPrefix(reason, "QOS"), strings.HasPrefix(reason, "Assoc"):
		return "waits because a limit was reached (" + reason + ")"
	}
	return "waits (" + strings.ReplaceAll(j.Reason, "_", " ") + ")"
}

// clock is the time of day in the user's time zone.
func clock(t time.Time) string {
	if t.IsZero() {
		return "later"
	}
	return t.Local().Format(time.TimeOnly)
}
