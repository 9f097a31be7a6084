package aws

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestNews tells of each step that took time once, and of none that was done before
// anybody looked at a head node that had come up, or for another revision.
func TestNews(t *testing.T) {
	quick, slow, late := manifest.Step{Name: "quick", Seconds: 0.1, Done: true}, manifest.Step{Name: "slow", Seconds: 3, Done: true}, manifest.Step{Name: "late", Seconds: 2}
	done := late
	done.Done = true
	again := slow
	again.Seconds = 4
	of := func(revision string, s manifest.Step) manifest.Step {
		s.Revision = revision
		return s
	}
	for _, row := range []struct {
		name  string
		looks []manifest.HeadStatus
		want  []manifest.Step
	}{
		{"boot", []manifest.HeadStatus{{Steps: []manifest.Step{quick, slow, late}}, {Steps: []manifest.Step{quick, slow, done}}, {Steps: []manifest.Step{quick, slow, done}, Revision: "r"}}, []manifest.Step{slow, done}},
		{"change", []manifest.HeadStatus{{Steps: []manifest.Step{quick, slow}, Revision: "r"}, {Steps: []manifest.Step{quick, again}, Revision: "r"}}, []manifest.Step{again}},
		{"revision_read_later", []manifest.HeadStatus{{Steps: []manifest.Step{slow}}, {Steps: []manifest.Step{of("r", slow)}}}, []manifest.Step{slow}},
		{"after_a_failed_boot", []manifest.HeadStatus{{Steps: []manifest.Step{of("old", slow)}}, {Steps: []manifest.Step{of("old", slow), of("r", done)}}}, []manifest.Step{done}},
		{"update_goes_on", []manifest.HeadStatus{{Steps: []manifest.Step{of("old", slow), of("r", done)}, Revision: "old"}}, []manifest.Step{done}},
		{"runs_already", []manifest.HeadStatus{{Steps: []manifest.Step{of("r", slow)}, Revision: "r"}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var l headLook
			var got []manifest.Step
			for _, s := range row.looks {
				l.status = s
				got = append(got, l.news("r")...)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrialOf(t *testing.T) {
	cluster := func(all ...spec.ComputeResource) *spec.Cluster {
		c := &spec.Cluster{}
		c.Scheduling.Slurm.ScaledownIdleMinutes = 10
		c.Scheduling.Queues = []spec.Queue{{Name: "q", ComputeResources: all}}
		return c
	}
	idle := spec.ComputeResource{Name: "idle", InstanceTypes: []string{"c5.large"}, MaxCount: 1}
	always := spec.ComputeResource{Name: "always", InstanceTypes: []string{"c5.large"}, MinCount: 3, MaxCount: 3}
	static := &Trial{Queue: "q", Resource: "always", InstanceType: "c5.large", Nodes: 2, Static: true}
	for _, row := range []struct {
		name string
		file *spec.Cluster
		when Test
		want *Trial
	}{
		{"static", cluster(idle, always), TestStatic, static},
		{"static_asked", cluster(idle, always), TestAlways, static},
		{"never", cluster(always), TestNever, nil},
		{"would_cost", cluster(idle), TestStatic, nil},
		{"costs", cluster(idle), TestAlways, &Trial{Queue: "q", Resource: "idle", InstanceType: "c5.large", Nodes: 1, USDPerHour: 0.085, Known: true, IdleMinutes: 10}},
		{"no_nodes", cluster(), TestAlways, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, trialOf(row.file, row.when)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
