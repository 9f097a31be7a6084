package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueue(t *testing.T) {
	p := &programs{stdout: "11 gpu RUNNING gpu-dy-p5-[1-2]\n12 cpu,gpu PENDING \n"}
	got, err := Client{Runner: p}.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Queued{{11, "gpu", "RUNNING", "gpu-dy-p5-[1-2]"}, {12, "cpu,gpu", "PENDING", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asked := []string{"squeue --noheader --all --states=PENDING,CONFIGURING,RUNNING,SUSPENDED,STOPPED,COMPLETING --format=%A %P %T %N"}
	if diff := cmp.Diff(asked, p.asked); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"\n", "x gpu RUNNING n1\n", "1 gpu\n", "1 gpu RUNNING n1 n2\n"} {
		if got, err := parseQueue([]byte(text)); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}
