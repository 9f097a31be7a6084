package aws_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/fsx"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/step"
	double "github.com/muster-hpc/muster/test/cloud"
)

// TestUpAndDown makes a cluster, changes it and takes it down.
func TestUpAndDown(t *testing.T) {
	w := newWorld(t)
	w.heads()
	r := &told{t: t}
	plan, err := w.up(t.Context(), plainFile, "", r)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.New || len(plan.Stacks) != 2 || plan.Stacks[0].Action != "create" || plan.Always.USD <= 0 || plan.Full.USD <= plan.Always.USD {
		t.Errorf("the plan was %+v", plan)
	}
	s := aws.StatusOf(t.Context(), w.account, "demo", time.Now())
	if s.State != "up" || len(s.Look)+len(s.Blind) > 0 || len(s.Instances) != 1 || s.USDPerHour <= 0 {
		t.Errorf("status %+v", s)
	}
	plan, err = w.up(t.Context(), plainFile, "", r)
	if err != nil || !plan.Empty() {
		t.Errorf("again: %+v, %v", plan, err)
	}
	_, err = w.up(t.Context(), strings.Replace(plainFile, "InstanceType: c5.large\n  Ssh", "InstanceType: c5.xlarge\n  Ssh", 1), "", r)
	refused, ok := errors.AsType[*aws.Refused](err)
	if !ok || len(refused.Reasons) != 1 || !strings.Contains(refused.Reasons[0], "HeadNode.InstanceType cannot be changed in a cluster that exists (c5.large -> c5.xlarge)") {
		t.Errorf("another head node: %v", err)
	}
	plan, err = w.up(t.Context(), strings.Replace(plainFile, "MaxCount: 4", "MaxCount: 8", 1), "", r)
	if err != nil || plan.New || len(plan.Changes) != 1 || plan.Empty() {
		t.Errorf("more nodes: %+v, %v", plan, err)
	}
	left, err := w.down(t.Context(), true, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		if l.Costs() || !l.Kept {
			t.Errorf("left: %+v", l)
		}
	}
	if left, err = w.down(t.Context(), true, r); err != nil || len(left) > 1 {
		t.Errorf("twice: %+v, %v", left, err)
	}
}

const storageFile = plainFile + `SharedStorage:
  - Name: data
    MountDir: /data
    StorageType: FsxLustre
    FsxLustreSettings:
      StorageCapacity: 1200
      DeploymentType: PERSISTENT_2
      PerUnitStorageThroughput: 125
      DeletionPolicy: Delete
      DataRepositoryAssociations:
        - {Name: all, FileSystemPath: /, DataRepositoryPath: "s3://somebodys-data/x/", AutoExportPolicy: [NEW, CHANGED, DELETED]}
`

const zfs = `FileSystems:
  - {Name: home, MountDir: /zfs, DeploymentType: SINGLE_AZ_1, StorageCapacity: 64, ThroughputCapacity: 64, DeletionPolicy: Delete}
`

// TestDownKeepsData takes a cluster with two file systems down: the one that is
// linked with S3 goes after its last export, the other stays until its deletion is
// asked for, and a new cluster finds it. FSx makes a last backup of a file system of OpenZFS
// unless it is told otherwise, and bills it: none is left.
func TestDownKeepsData(t *testing.T) {
	w := newWorld(t)
	w.heads()
	r := &told{t: t}
	w.makeBucket("somebodys-data")
	if _, err := w.up(t.Context(), storageFile, zfs, r); err != nil {
		t.Fatal(err)
	}
	left, err := w.down(t.Context(), false, r)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, l := range left {
		if l.Kind == "file system" {
			kept = append(kept, l.ID)
			if !l.Kept || !strings.Contains(l.Why, "--delete-data") || l.USDPerMonth <= 0 {
				t.Errorf("left: %+v", l)
			}
		} else if l.Costs() {
			t.Errorf("left: %+v", l)
		}
	}
	if len(kept) != 1 {
		t.Fatalf("file systems left: %v of %+v", kept, left)
	}
	if s := aws.StatusOf(t.Context(), w.account, "demo", time.Now()); s.State != "half made" {
		t.Errorf("status %+v", s)
	}
	if _, err := w.up(t.Context(), storageFile, zfs, r); err != nil {
		t.Fatal(err)
	}
	if left, err = w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		if l.Costs() {
			t.Errorf("left with --delete-data: %+v", l)
		}
	}
	out, err := fsx.NewFromConfig(w.Config()).DescribeBackups(t.Context(), &fsx.DescribeBackupsInput{})
	if err != nil || len(out.Backups) > 0 {
		t.Errorf("%d backups, %v", len(out.Backups), err)
	}
}

// TestDownKeepsWhatIsRetained takes a cluster down whose file system is to outlive it:
// it holds its network, which goes once somebody has deleted it.
func TestDownKeepsWhatIsRetained(t *testing.T) {
	w := newWorld(t)
	w.heads()
	r := &told{t: t}
	w.makeBucket("somebodys-data")
	file := strings.Replace(storageFile, "DeletionPolicy: Delete", "DeletionPolicy: Retain", 1)
	if _, err := w.up(t.Context(), file, "", r); err != nil {
		t.Fatal(err)
	}
	system := func(deleteData bool) string {
		left, err := w.down(t.Context(), deleteData, r)
		if err != nil {
			t.Fatal(err)
		}
		id := ""
		for _, l := range left {
			switch {
			case l.Kind == "file system" && l.Kept && strings.Contains(l.Why, "Retain"):
				id = l.ID
			case l.Costs():
				t.Errorf("left: %+v", l)
			}
		}
		return id
	}
	first := system(false)
	plan, err := w.up(t.Context(), file, "", r)
	if err != nil {
		t.Fatal(err)
	}
	if again := system(true); again != first || first == "" {
		t.Fatalf("kept %q, then %q; the plan was %+v", first, again, plan)
	}
	if _, err := fsx.NewFromConfig(w.Config()).DeleteFileSystem(t.Context(), &fsx.DeleteFileSystemInput{FileSystemId: &first}); err != nil {
		t.Fatal(err)
	}
	left, err := w.down(t.Context(), true, r)
	if err != nil || len(left) > 1 { // the log group
		t.Errorf("after it was deleted: %+v, %v", left, err)
	}
}

// TestDownTriesAgain has a security group that cannot be deleted for a while, and something come into the bucket when it was
// just emptied.
func TestDownTriesAgain(t *testing.T) {
	w := newWorld(t)
	w.heads()
	r := &told{t: t}
	if _, err := w.up(t.Context(), plainFile, "", r); err != nil {
		t.Fatal(err)
	}
	r.on = func(note string) {
		if strings.HasPrefix(note, "tried again: stack demo-base is DELETE_FAILED: ") {
			w.Formation.Heal("demo-base", "HeadSecurityGroup")
		}
	}
	w.Formation.FailDelete("demo-base", "HeadSecurityGroup", "resource sg-1 has a dependent object")
	const full = "DeleteBucket"
	lift := w.Fail(double.Rule{Kind: double.Refused, Code: "BucketNotEmpty", Message: "it is not empty", Status: 409, Service: "s3", Operation: full, Times: 2})
	defer lift()
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.notes, func(n string) bool { return strings.HasPrefix(n, "tried again: ") }) {
		t.Errorf("notes %q", r.notes)
	}
	if n := w.refused(full); n != 2 {
		t.Errorf("%s was refused %d times, want 2", full, n)
	}
}

// refused counts the calls of an operation that a rule of the test refused.
func (w *world) refused(operation string) int {
	n := 0
	for _, c := range w.Calls() {
		if c.Operation == operation && c.By == "fault" {
			n++
		}
	}
	return n
}

// TestDownMeetsAnUp has somebody make the cluster again when its main stack is just deleted.
func TestDownMeetsAnUp(t *testing.T) {
	w := newWorld(t)
	w.heads()
	if _, err := w.up(t.Context(), plainFile, "", &told{t: t}); err != nil {
		t.Fatal(err)
	}
	other, r := *w, &told{t: t}
	other.home = t.TempDir()
	r.after = func(s step.Step) {
		if s.Name != "delete stack demo" {
			return
		}
		if _, err := other.up(t.Context(), plainFile, "", &told{t: t}); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.down(t.Context(), true, r); err == nil || !strings.Contains(err.Error(), "another muster makes cluster demo again") {
		t.Errorf("down says %v", err)
	}
	if left, err := w.down(t.Context(), true, &told{t: t}); err != nil {
		t.Errorf("afterwards: %+v, %v", left, err)
	}
}

// TestDownCountsWhatTheHeadNodeEnded has a head node that ends its nodes when it is
// told to stop the fleet.
func TestDownCountsWhatTheHeadNodeEnded(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex // guards ids
	var ids []string
	w.says = func(c *manifest.ClusterStatus) {
		if c.Fleet != "stopped" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if err := w.account.Terminate(t.Context(), ids); err != nil {
			t.Error(err)
		}
	}
	w.heads()
	r := &told{t: t}
	if _, err := w.up(t.Context(), plainFile, "", r); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	for range 2 {
		ids = append(ids, w.launch(map[string]string{api.ClusterTag: "demo", api.RoleTag: manifest.RoleCompute}))
	}
	mu.Unlock()
	if _, err := w.down(t.Context(), true, r); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.steps, func(s step.Step) bool { return s.Name == "stop the fleet" })
	if i < 0 || r.steps[i].Detail != "the head node has stopped the fleet; 2 instances ended" {
		t.Errorf("steps %+v", r.steps)
	}
}
