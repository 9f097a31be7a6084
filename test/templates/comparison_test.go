package templates

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestComparison_sees_what_is_missing takes something away from a recording and
// compares it with what it was.
func TestComparison_sees_what_is_missing(t *testing.T) {
	text, err := os.ReadFile(clusterFiles(t)["guide-80"])
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		change func(world)
		want   difference
	}{
		{"nothing", func(world) {}, difference{}},
		{"an_interface", func(w world) {
			data := w.template(t)
			data["NetworkInterfaces"] = slices.Delete(data["NetworkInterfaces"].([]any), 32, 33)
		}, difference{"launch template queue gpu-queue/p5e-nodes", "NetworkInterfaces[card 31 device 1].InterfaceType", "efa-only", "-"}},
		{"the_kind_of_an_interface", func(w world) {
			w.template(t)["NetworkInterfaces"].([]any)[1].(map[string]any)["InterfaceType"] = "efa"
		}, difference{"launch template queue gpu-queue/p5e-nodes", "NetworkInterfaces[card 0 device 1].InterfaceType", "efa-only", "efa"}},
		{"a_rule_between_nodes", func(w world) { delete(w.resources, "ComputeSecurityGroupIngress") },
			difference{"traffic", "queue gpu-queue to queue gpu-queue", "all", "-"}},
		{"a_rule_for_what_leaves", func(w world) { delete(w.resources, "ComputeSecurityGroupEgress") },
			difference{"traffic", "queue gpu-queue out to its own group", "all", "-"}},
		{"a_right", func(w world) { delete(w.resources, "ParallelClusterSlurmRoute53Policies") },
			difference{"rights of head node", "route53:ChangeResourceRecordSets", "limited", "-"}},
		{"a_link_to_a_bucket", func(w world) { w.forget("AWS::FSx::DataRepositoryAssociation", "/datasets") },
			difference{"data repository association fsx-data:/datasets", "", "there", "-"}},
		{"a_policy_of_deletion", func(w world) {
			for id, r := range w.resources {
				if r.Type == "AWS::FSx::FileSystem" {
					r.DeletionPolicy = ""
					w.resources[id] = r
				}
			}
		}, difference{"file system fsx-logs", "DeletionPolicy", "Retain", "-"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			changed := theirs(t, "guide-80", string(text))
			row.change(changed)
			got := differences(theirs(t, "guide-80", string(text)).facts(), changed.facts())
			if row.want == (difference{}) {
				if len(got) > 0 {
					t.Errorf("it differs from itself: %v", got)
				}
				return
			}
			if !slices.Contains(got, row.want) {
				t.Errorf("got %v, want among them %v", got, row.want)
			}
		})
	}
}

// template is the data of the launch template of the file's one compute resource.
func (w world) template(t *testing.T) map[string]any {
	t.Helper()
	for _, m := range w.machines() {
		if strings.HasPrefix(m.role, "queue ") {
			return at(w.resources[m.template].Properties, "LaunchTemplateData").(map[string]any)
		}
	}
	t.Fatal("there is no compute resource")
	return nil
}

// forget takes away a resource by its type and FileSystemPath.
func (w world) forget(kind, path string) {
	for id, r := range w.resources {
		if r.Type == kind && r.Properties["FileSystemPath"] == path {
			delete(w.resources, id)
		}
	}
}
