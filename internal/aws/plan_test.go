package aws

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/plan"
)

func TestLosses(t *testing.T) {
	change := func(action cloudformation.Action, kind string, keeps bool) ResourceChange {
		return ResourceChange{Change: cloudformation.Change{Action: action, Resource: "X", Type: kind, ID: "x-1", Properties: []string{"P"}, Keeps: keeps}, What: "thing"}
	}
	for _, row := range []struct {
		name   string
		change ResourceChange
		want   string
	}{
		{"replaced", change(cloudformation.Replace, "AWS::FSx::FileSystem", false), "thing (x-1) would be made anew, without its data, for P changes"},
		{"perhaps_replaced", change(cloudformation.MayReplace, "AWS::EC2::Volume", false), "thing (x-1) would be made anew"},
		{"removed", change(cloudformation.Remove, "AWS::EFS::FileSystem", false), "DeletionPolicy: Retain"},
		{"removed_and_kept", change(cloudformation.Remove, "AWS::EFS::FileSystem", true), ""},
		{"changed", change(cloudformation.Modify, "AWS::FSx::FileSystem", false), ""},
		{"no_data", change(cloudformation.Replace, "AWS::EC2::Instance", false), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := strings.Join(losses(StackPlan{Changes: []ResourceChange{row.change}}), "; ")
			if row.want == "" && got != "" || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	changes := []plan.Change{
		{Path: "a", Old: "1", New: "2", Need: plan.Nothing},
		{Path: "b", New: "2", Need: plan.Stopped, Instead: "stop"},
		{Path: "c", Old: "1", Need: plan.Login, Instead: "wait"},
		{Path: "d", Old: "1", New: "2", Need: plan.Never, Instead: "no"},
		{Path: "e", Old: "1", New: "2", Need: plan.Replaced},
	}
	never := "d cannot be changed in a cluster that exists (1 -> 2): no"
	for _, row := range []struct {
		name           string
		running, login int
		want           []string
	}{
		{"nothing_runs", 0, 0, []string{never}},
		{"nodes_run", 3, 0, []string{"b cannot be changed while compute nodes run, and 3 do (new: 2): stop", never}},
		{"all_run", 3, 1, []string{"b cannot be changed while compute nodes run, and 3 do (new: 2): stop", "c cannot be changed while login nodes run, and 1 do (was: 1): wait", never}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, refusals(changes, row.running, row.login)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
