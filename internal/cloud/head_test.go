package cloud

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/site"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestNews tells of each step that took time once, and of none that was done before
// anybody looked at a head node that had come up, or for another revision.
func TestNews(t *testing.T) {
	quick, slow, late := site.Step{Name: "quick", Seconds: 0.1, Done: true}, site.Step{Name: "slow", Seconds: 3, Done: true}, site.Step{Name: "late", Seconds: 2}
	done := late
	done.Done = true
	again := slow
	again.Seconds = 4
	of := func(revision string, s site.Step) site.Step {
		s.Revision = revision
		return s
	}
	for _, row := range []struct {
		name  string
		looks []site.HeadStatus
		want  []site.Step
	}{
		{"boot", []site.HeadStatus{{Steps: []site.Step{quick, slow, late}}, {Steps: []site.Step{quick, slow, done}}, {Steps: []site.Step{quick, slow, done}, Revision: "r"}}, []site.Step{slow, done}},
		{"change", []site.HeadStatus{{Steps: []site.Step{quick, slow}, Revision: "r"}, {Steps: []site.Step{quick, again}, Revision: "r"}}, []site.Step{again}},
		{"revision_read_later", []site.HeadStatus{{Steps: []site.Step{slow}}, {Steps: []site.Step{of("r", slow)}}}, []site.Step{slow}},
		{"after_a_failed_boot", []site.HeadStatus{{Steps: []site.Step{of("old", slow)}}, {Steps: []site.Step{of("old", slow), of("r", done)}}}, []site.Step{done}},
		{"update_goes_on", []site.HeadStatus{{Steps: []site.Step{of("old", slow), of("r", done)}, Revision: "old"}}, []site.Step{done}},
		{"runs_already", []site.HeadStatus{{Steps: []site.Step{of("r", slow)}, Revision: "r"}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var l headLook
			var got []site.Step
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
