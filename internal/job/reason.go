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
	"PartitionInactive":           "waits because its partition is inactive: the fleet is stopped, or the queue is protected, and `muster status` says why; `muster fleet start` lets it run",
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
	"AssociationJobLimit":         "waits because its account runs as many jobs as it may",
	"AssociationResourceLimit":    "waits because its account has all that it may have at once",
	"AssociationTimeLimit":        "waits because its account has used the time that it may",
	"AccountNotAllowed":           "waits because its partition takes no jobs of its account",
	"AccountingPolicy":            "waits because of a limit of its account or QOS",
	"QOSNotAllowed":               "waits because its partition or its account takes no jobs of its QOS",
	"QOSJobLimit":                 "waits because as many jobs of its QOS run as may at once",
	"QOSResourceLimit":            "waits because the jobs of its QOS have all that they may have at once",
	"QOSTimeLimit":                "waits because the jobs of its QOS have used the time that they may",
	"QOSUsageThreshold":           "waits because its account has used more than its share, and its QOS asks for a share that is left",
	"MaxMemPerLimit":              "never starts: it asks for more memory on a CPU or a node than jobs may",
	"MaxPoweredUpNodes":           "waits because as many nodes are powered up as may be (MaxPoweredUpNodes)",
	"PartitionConfig":             "waits because its partition's limits do not take it",
	"Constraints":                 "waits for nodes with the features that it asks for",
	"NodeDown":                    "waits for a node that is down",
	"DeadLine":                    "cannot end before its deadline any more",
	"ReservationInvalid":          "never starts: it may not use its reservation",
	"SchedDefer":                  "waits because Slurm could not start it at once, as it asked",
	"FedJobLock":                  "waits until the clusters of the federation agree on who runs it",
	"MpiPortsBusy":                "waits because the ports that its ranks need are in use",
	"NvidiaImexChannels":          "waits for a free IMEX channel of its GPUs",
	"BurstBufferResources":        "waits for room in the burst buffer",
	"BurstBufferStageIn":          "waits until its data are in the burst buffer",
	"BurstBufferOperation":        "waits because an operation of its burst buffer failed",
	"PowerNotAvail":               "waits for electric power that the cluster does not have at present",
	"PowerReserved":               "waits for electric power that is kept for a reservation",
	"BlockMaxError":               "waits for blocks of nodes that have too many errors",
	"BlockFreeAction":             "waits for blocks of nodes that are being freed",
	"FrontEndDown":                "waits because no front end answers",
	"SystemFailure":               "failed because of an error of Slurm's or of a node",
	"NonZeroExitCode":             "failed: its script ended with an exit code other than 0",
	"RaisedSignal":                "failed: a signal ended its script",
	"OutOfMemory":                 "was ended because it took more memory than it was given",
	"TimeLimit":                   "was ended at its time limit",
}

// Why says why a pending job waits. It goes on from "the job".
func Why(j slurm.Job) string {
	reason, detail, _ := strings.Cut(j.Reason, "(")
	reason, _, _ = strings.Cut(reason, ",")
	reason = strings.TrimSpace(reason)
	if text, ok := waits[reason]; ok {
		return text
	}
	if text, ok := limited(reason); ok {
		return "waits: " + text + " (" + reason + ")"
	}
	switch {
	case reason == "InvalidAccount":
		return "waits because its account is invalid" + notOf(j.User, j.Account)
	case reason == "InvalidQOS":
		return "waits because its QOS is invalid" + notOf(j.User, j.QOS)
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

// notOf says that a user has no right to an account or a QOS, where both are known.
func notOf(user, name string) string {
	if user == "" || name == "" {
		return ""
	}
	return fmt.Sprintf(": %s has no right to %s; `sacctmgr show assoc user=%s` lists what there is", user, name, user)
}

// clock is the time of day in the user's time zone.
func clock(t time.Time) string {
	if t.IsZero() {
		return "later"
	}
	return t.Local().Format(time.TimeOnly)
}
