package aws_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/step"
)

const twoQueues = plainFile + `    - Name: p
      ComputeSettings: {LocalStorage: {RootVolume: {Size: 60}}}
      ComputeResources:
        - {Name: r, InstanceType: c5.xlarge, MinCount: 1, MaxCount: 4}
SharedStorage:
  - {Name: things, MountDir: /things, StorageType: Efs, EfsSettings: {DeletionPolicy: Retain}}
`

// TestWhatLeavesTheFile takes a queue and a file system out of a file. What the first
// stacks had for them goes when the last one does not use it any more.
func TestWhatLeavesTheFile(t *testing.T) {
	w := newWorld(t)
	w.heads()
	w.static = 1
	r := &told{t: t}
	plan, err := w.up(t.Context(), twoQueues, "", r)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Trial == nil || !plan.Trial.Static || plan.Trial.Queue != "p" || plan.Trial.Nodes != 1 {
		t.Errorf("the test job was %+v", plan.Trial)
	}
	if got := r.detail("test job"); !strings.HasPrefix(got, "ran on p-static&r after ") {
		t.Errorf("test job: %s", got)
	}
	if got := r.detail("static nodes"); got != "1 answers" {
		t.Errorf("static nodes: %s", got)
	}
	w.static, r = 0, &told{t: t}
	if _, err := w.up(t.Context(), strings.Replace(twoQueues, twoQueues[len(plainFile):], "", 1), "", r); err != nil {
		t.Fatal(err)
	}
	if got := r.detail("take away what has left the file"); !strings.Contains(got, "stack demo-storage") {
		t.Errorf("taken away: %q", got)
	}
	if got := r.detail("test job"); !strings.HasPrefix(got, "none: no node is always on") {
		t.Errorf("test job: %s", got)
	}
	last := -1
	for _, name := range []string{"stack demo-storage", "stack demo", "head node", "take away what has left the file"} {
		at := slices.IndexFunc(r.steps, func(s step.Step) bool { return s.Name == name })
		if at <= last {
			t.Errorf("step %s is step %d, after step %d", name, at, last)
		}
		last = at
	}
	if plan, err := w.up(t.Context(), plainFile, "", r); err != nil || !plan.Empty() {
		t.Errorf("again %+v, %v", plan, err)
	}
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
}

// TestStaticNodesThatDoNotCome has nodes that should be always on, and cannot be.
func TestStaticNodesThatDoNotCome(t *testing.T) {
	w := newWorld(t)
	w.heads()
	w.static = 1
	file := plainFile + `    - Name: p
      ComputeResources:
        - {Name: r, InstanceType: c5.xlarge, MinCount: 1, MaxCount: 4}
`
	for _, row := range []struct {
		name         string
		says         func(*manifest.ClusterStatus)
		static, test string
		failure      string
	}{
		{"stopped", func(c *manifest.ClusterStatus) { c.Fleet, c.Static.Ready = "stopped", 0 }, "none: the fleet is stopped", "none: the fleet is stopped", ""},
		{"later", func(c *manifest.ClusterStatus) { c.Static.Ready, c.Static.Later = 0, []string{"p-st-r-1"} },
			"none answers yet, 1 start when their capacity block begins: p-st-r-1", "none: its nodes start when", ""},
		{"protected", func(c *manifest.ClusterStatus) {
			c.Fleet, c.Why, c.Static.Ready = "protected", "queue p: boots fail", 0
		}, "", "", "the fleet is protected: queue p: boots fail"},
	} {
		r := &told{t: t}
		w.says = row.says
		_, err := w.up(t.Context(), file, "", r)
		if row.failure != "" {
			if err == nil || !strings.Contains(err.Error(), row.failure) {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := r.detail("static nodes"); !strings.HasPrefix(got, row.static) {
			t.Errorf("%s: static nodes: %s", row.name, got)
		}
		if got := r.detail("test job"); !strings.HasPrefix(got, row.test) {
			t.Errorf("%s: test job: %s", row.name, got)
		}
	}
}

// detail is what the last step of a name said.
func (r *told) detail(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range slices.Backward(r.steps) {
		if s.Name == name {
			return s.Detail
		}
	}
	return "no such step"
}
