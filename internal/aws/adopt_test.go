package aws_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
)

// stack makes a stack that has a name, tags and a scheduler, and nothing that costs.
func (w *world) stack(name, scheduler string, tags map[string]string) {
	w.t.Helper()
	_, _, err := cloudformation.New(w.Config()).Ensure(w.t.Context(), cloudformation.Stack{
		Name: name, Tags: tags, Parameters: map[string]string{"Scheduler": scheduler, "ClusterUser": "ubuntu"},
		Template: []byte(`{"Parameters": {"Scheduler": {"Type": "String"}, "ClusterUser": {"Type": "String"}},
			"Resources": {"G": {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": "cluster"}}}}`),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func pcluster(name string) map[string]string {
	return map[string]string{"parallelcluster:cluster-name": name, "parallelcluster:version": "3.13.2"}
}

// machine starts a machine that ParallelCluster's tags make a cluster's.
func (w *world) machine(cluster, kind string) string {
	w.t.Helper()
	return w.launch(map[string]string{"parallelcluster:cluster-name": cluster, "parallelcluster:node-type": kind})
}

// launch starts a machine with tags.
func (w *world) launch(with map[string]string) string {
	w.t.Helper()
	ctx, client := w.t.Context(), ec2.NewFromConfig(w.Config())
	images, err := client.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"amazon"}})
	if err != nil {
		w.t.Fatal(err)
	}
	var tags []types.Tag
	for key, value := range with {
		tags = append(tags, types.Tag{Key: sdk.String(key), Value: sdk.String(value)})
	}
	out, err := client.RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: "c5.large", MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1),
		TagSpecifications: []types.TagSpecification{{ResourceType: "instance", Tags: tags}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	w.await(id, types.InstanceStateNameRunning)
	return id
}

// await waits until an instance has a state.
func (w *world) await(id string, state types.InstanceStateName) {
	w.t.Helper()
	for range 600 {
		out, err := ec2.NewFromConfig(w.Config()).DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
		if err == nil && len(out.Reservations) > 0 && out.Reservations[0].Instances[0].State.Name == state {
			return
		}
		select {
		case <-w.t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	w.t.Fatalf("%s never was %s", id, state)
}

func (w *world) adopt(name string, keys ...string) (aws.Adoption, error) {
	return aws.Adopt(w.t.Context(), aws.AdoptOptions{Name: name, Home: w.home, Account: w.account, HostKeys: keys})
}

func TestAdoptRefuses(t *testing.T) {
	w := newWorld(t)
	w.stack("plain", "slurm", map[string]string{"owner": "somebody"})
	w.stack("batch", "awsbatch", pcluster("batch"))
	w.stack("own", "slurm", map[string]string{"muster:cluster": "own"})
	for name, want := range map[string]string{
		"nowhere": "there is no stack nowhere in us-east-2; --region names another region",
		"plain":   "stack plain in us-east-2 is none of ParallelCluster's",
		"batch":   "cluster batch has the scheduler awsbatch, and muster knows Slurm alone",
		"own":     "cluster own is muster's own; `muster status --cluster own` finds it",
	} {
		if _, err := w.adopt(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := aws.RecordOf(w.home, name); !os.IsNotExist(err) {
			t.Errorf("%s has a record: %v", name, err)
		}
	}
}

// TestAdopted follows a cluster through what may become of it.
func TestAdopted(t *testing.T) {
	w := newWorld(t)
	ctx, client := t.Context(), ec2.NewFromConfig(w.Config())
	w.stack("theirs", "slurm", pcluster("theirs"))
	first, err := w.adopt("theirs")
	if err != nil || first.Adopted.Head != "" || len(first.Notes) != 2 || !strings.Contains(first.Notes[0], "has no head node") {
		t.Fatalf("without a head node: %+v, %v", first, err)
	}
	look := func() aws.Status {
		r, err := aws.RecordOf(w.home, "theirs")
		if err != nil {
			t.Fatal(err)
		}
		return aws.StatusBy(ctx, w.account, r, time.Now())
	}
	if s := look(); s.State != "stopped" || len(s.Look) != 1 || len(s.Blind) > 0 {
		t.Errorf("without a head node: %+v", s)
	}

	id := w.machine("theirs", "HeadNode")
	w.machine("theirs", "Compute")
	if a, err := w.adopt("theirs"); err != nil || a.Adopted.Head != id || len(a.Notes) != 2 || !strings.Contains(a.Notes[0], "--host-key") {
		t.Errorf("without a console: %+v, %v", a, err)
	}
	// A key that somebody said stays known.
	for _, keys := range [][]string{{"ssh-ed25519 AAAA"}, nil} {
		a, err := w.adopt("theirs", keys...)
		if err != nil || !slices.Equal(a.Adopted.HostKeys, []string{"ssh-ed25519 AAAA"}) || a.Adopted.User != "ubuntu" || a.Adopted.InstanceType != "c5.large" {
			t.Errorf("with a key: %+v, %v", a, err)
		}
	}
	if s := look(); s.State != "up" || len(s.Look)+len(s.Blind) > 0 || len(s.Instances) != 2 || s.USDPerHour != 2*0.085 || s.Adopted.Version != "3.13.2" {
		t.Errorf("with a head node: %+v", s)
	}
	r, _ := aws.RecordOf(w.home, "theirs")
	if h, err := aws.HeadOf(ctx, w.account, r); err != nil || h.Instance != id || h.User != "ubuntu" || len(h.HostKeys) != 1 {
		t.Errorf("the way: %+v, %v", h, err)
	}
	if _, err := client.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.await(id, types.InstanceStateNameStopped)
	if s := look(); s.State != "stopped" || s.Look[0] != "its head node "+id+" is stopped" {
		t.Errorf("with a head node that is stopped: %+v", s)
	}
	w.leave(look)
}

// leave holds that `down` refuses the cluster theirs, and that nothing stays of it here.
func (w *world) leave(look func() aws.Status) {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	if _, _, err := aws.Down(ctx, aws.DownOptions{Name: "theirs", Home: w.home, Account: w.account, Report: &told{t: t}}); err == nil ||
		!strings.Contains(err.Error(), "`pcluster delete-cluster -n theirs -r us-east-2` deletes it") {
		t.Errorf("down: %v", err)
	}
	if err := cloudformation.New(w.Config()).Delete(ctx, "theirs"); err != nil {
		t.Fatal(err)
	}
	if s := look(); s.State != "gone" {
		t.Errorf("without a stack: %+v", s)
	}
	if err := aws.Forget(w.home, "theirs"); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.home, "*", "theirs.*")); len(slices.DeleteFunc(left, func(p string) bool { return strings.HasSuffix(p, ".lock") })) > 0 {
		t.Errorf("left on this machine: %v", left)
	}
}
