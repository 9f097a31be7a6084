package test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// pausingScript trains, a step every 0.2 s, with a long checkpoint after step 10 and a long evaluation after step 30. Then it
// waits for the test, deletes the first checkpoint, and saves a last one.
const pausingScript = `#!/bin/bash
#SBATCH --nodes=1 --exclusive --open-mode=append --job-name=pauses
#MUSTER --checkpoints=/fsx1/pauses --hang=off
srun bash -c 'cd /fsx1/pauses
stamp() { date "+%F %T.%N" | cut -c1-23; }
step() { sleep 0.2; echo "$(stamp) I [train.py:103] Batch $1 Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001"; }
for ((i = 1; i <= 10; i++)); do step $i; done
mkdir checkpoint-10
for ((k = 0; k < 14; k++)); do echo part >>checkpoint-10/model; sleep 1; done
echo "{\"files\": {\"model\": {\"bytes\": 70}}}" >checkpoint-10/manifest.json
for ((; i <= 30; i++)); do step $i; done
sleep 14
echo "$(stamp) I [train.py:103] Batch 30 Validation loss: 6.9"
for ((; ; i++)); do step $i; [ ! -e go ] || break; done
rm -r checkpoint-10
mkdir checkpoint-$i
echo part >checkpoint-$i/model
echo "{\"files\": {\"model\": {\"bytes\": 5}}}" >checkpoint-$i/manifest.json
step $((i + 1))
'
`

// keptIsReported has a job save and evaluate for much longer than its steps take: no part of that is a hang. What the head
// node has seen counts when the checkpoint is gone; on a cluster without it, nobody knows what the pause was.
func keptIsReported(t *testing.T, c *cluster) {
	if err := os.MkdirAll(c.path("shared", "fsx1", "pauses"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.file("pauses.sbatch", pausingScript)
	k := &kept{cluster: c, id: strings.TrimSpace(c.must("job", "submit", "pauses.sbatch")), dir: c.path("shared", "fsx1", "pauses")}
	c.await("it has evaluated", 3*time.Minute, func() bool { return strings.Contains(c.read("slurm-"+k.id+".out"), "Validation") })
	c.await("its checkpoint is seen", 2*time.Minute, func() bool {
		j := k.look()
		return j.Kept != nil && j.Kept.Checkpoint != nil && j.Kept.Checkpoint.Step == 10
	})
	if err := os.WriteFile(k.dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.await("it has ended", 2*time.Minute, func() bool { j := k.look(); return j.State == "COMPLETED" && j.Kept.Phase == "ended" })
	const least = 14 + 6 - 1 // accounting has whole seconds, so a run's last one may be cut off
	of := c.secondsOf(t, c.must("job", "report", "-o", "json", k.id))
	if of["hang"] > 0 || of["checkpoint"] < 10 || of["checkpoint"] > 16 || of["training"] < least {
		t.Errorf("it saved for 14 s, evaluated for 14 s and made more than 30 steps: %v", of)
	}
	of = c.secondsOf(t, c.head("unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run/muster && exec /opt/muster/bin/muster job report --here -o json "+k.id))
	if of["hang"] > 0 || of["checkpoint"] > 5 || of["unknown"] < 10 || of["training"] < least {
		t.Errorf("without a head node that keeps it: %v", of)
	}
}

// secondsOf are the seconds of each class in a report on a job of one node.
func (c *cluster) secondsOf(t *testing.T, answer string) map[string]float64 {
	t.Helper()
	var r shownReport
	if err := json.Unmarshal([]byte(answer), &r); err != nil || len(r.Rows) != 1 || len(r.Blind) > 0 {
		t.Fatalf("%v: %s", err, answer)
	}
	of := map[string]float64{}
	for _, class := range r.Rows[0].Classes {
		of[class.Class] = class.NodeHours * 3600
	}
	return of
}
