package judge

import (
	"fmt"
	"slices"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// faults are what kept nodes from their measurement, one result for each node, and the nodes that told nothing.
func (s StorageSeen) faults() []verify.Result {
	var all []verify.Result
	for _, node := range s.Nodes {
		told := false
		worst := meter.StorageTask{}
		for _, t := range s.Tasks {
			if t.Node != node {
				continue
			}
			told = true
			if worst.Fault == "" || worst.Fault == meter.FaultStopped && t.Fault != "" {
				worst = t
			}
		}
		switch {
		case !told:
			all = append(all, verify.Result{Check: "storage-measured", On: node, Verdict: verify.Blind, Why: "nothing came of its measurement of " + s.Mount})
		case worst.Fault != "":
			all = append(all, s.fault(worst))
		}
	}
	return all
}

// notFaulty are faults that say nothing about a node or a file system.
var notFaulty = [...]meter.StorageFault{meter.FaultPermission, meter.FaultSpace, meter.FaultStopped, meter.FaultOther}

func (s StorageSeen) fault(t meter.StorageTask) verify.Result {
	r := verify.Result{Check: "storage-measured", On: t.Node, Verdict: verify.Fail, Found: string(t.Fault), Want: "files can be written and read on " + s.Mount,
		Why: t.Error, Hint: storageHint(t)}
	if slices.Contains(notFaulty[:], t.Fault) {
		r.Verdict = verify.Blind
	}
	if t.Fault == meter.FaultDamaged {
		r.Check, r.Want, r.Source = "storage-bytes", "every byte comes back as it was written", "muster compares all that it reads"
	}
	return r
}

func storageHint(t meter.StorageTask) string {
	switch t.Fault {
	case meter.FaultPermission:
		return "run it as a user who may write there, or have its owner make the mount writable: ls -ld " + t.Dir
	case meter.FaultSpace:
		return fmt.Sprintf("make room: df -h %[1]s and df -i %[1]s say how much there is", t.Dir)
	case meter.FaultFull:
		return "df -h and df -i there, and its quotas, say what is full"
	case meter.FaultMissing:
		return fmt.Sprintf("see on %s whether it is mounted: findmnt %s", t.Node, t.Dir)
	case meter.FaultReadOnly:
		return fmt.Sprintf("dmesg on %s says why; mount -o remount,rw %s", t.Node, t.Dir)
	case meter.FaultStale, meter.FaultIO:
		return fmt.Sprintf("dmesg on %s says more; mount it anew: umount -l %s && mount %s", t.Node, t.Dir, t.Dir)
	case meter.FaultDamaged:
		return "do not train on it: run it again, and compare nodes to find whether the disk, its server or one node changes bytes"
	}
	return ""
}
