package trainlog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestReader_takes_any_line: the reader runs as root in the head node's controller, and users write what it reads.
func TestReader_takes_any_line(t *testing.T) {
	bits := strings.Split(" |  |[|]|:|: |, |(|)|{|}|'|\"|=|/|%|%|-|.|+|e|0|1|7|99999999999999999999|nan|inf|\x1b[|\x1b]|\x1b|\r|\t|\xff|é|█|*** |JOB 7| ON |n-1| n-1 |STEP 7.0|DUE TO |"+
		"task|tasks|: task 1: |Exited with exit code |Killed|Killed process |Detected | in StepId=|slurmstepd-|Node failure on |srun: error: |host:1:2 [0] |NCCL INFO |Selected provider is |"+
		"Rank |[rank|[1,0]<stdout>:|[default0]:|0: |2025-06-17 16:24:52|OpType=|.cpp:|PCI:0000:38:00|): |S|val_loss|loss=|loss: |it/s|s/it|Epoch 0: |Batch 1 |Loss: 1.5|Speed: 2|lm loss|global_step: |"+
		"exitcode: |rank: |local_rank: |error_file|traceback|time: |host: |ValueError: x|torch.cuda.OutOfMemoryError|  File \"x\", line 1|  ^^^|Root Cause", "|")
	bits[0], bits[1] = "|", " "
	bits = append(bits, " [0] x NCCL WARN no", "0:  [0] NCCL INFO Using network x") // it did not take these once
	for _, n := range needles() {
		bits = append(bits, n.word, n.word)
	}
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	var said strings.Builder
	defer func() {
		if e := recover(); e != nil {
			t.Errorf("%v: at the end of %q", e, said.String()[max(0, said.Len()-300):])
		}
	}()
	for range 50_000 {
		said.Reset()
		one := &Reader{}
		for range 1 + r.IntN(6) {
			var line strings.Builder
			for range r.IntN(12) {
				line.WriteString(bits[r.IntN(len(bits))])
			}
			fmt.Fprintln(&said, line.String())
		}
		one.Feed([]byte(said.String()))
		one.End()
	}
}
