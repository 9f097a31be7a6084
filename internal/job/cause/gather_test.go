package cause_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// TestGather keeps the first signs that matter, whatever was before them.
func TestGather(t *testing.T) {
	const (
		step   = "Batch 1 Loss: 7.00000, Speed: 1.20 samples/sec, lr: 0.000030\n"
		caught = "[rank0]: ValueError: a sample is passed over\n"
		end    = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"x\", line 1\n[rank1]: AssertionError: x\n"
	)
	pieces := []string{"n1:1:1 [0] NCCL INFO Using network Socket\n", "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"x\", line 1\n" + caught, step, step + step, step + end}
	var kept []cause.Sign
	reader := &trainlog.Reader{}
	for _, p := range pieces {
		kept = cause.Gather(kept, "log", reader.Feed([]byte(p)), 3)
	}
	kept = cause.Gather(kept, "log", reader.End(), 3)
	if len(kept) != 1 || kept[0].Kind != trainlog.Exception || kept[0].Rank != 1 || kept[0].File != "log" {
		t.Errorf("got %+v", kept)
	}
	var many trainlog.Found
	for range 10 {
		many.Signs = append(many.Signs, trainlog.Sign{Kind: trainlog.NCCLTimeout})
	}
	if kept = cause.Gather(kept, "log", many, 3); len(kept) != 3 || kept[0].Rank != 1 {
		t.Errorf("got %+v", kept)
	}
}
