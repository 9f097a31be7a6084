package fsx_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/fsx/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func (w *world) bucket(name string) {
	w.Helper()
	_, err := s3.NewFromConfig(w.cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true }).CreateBucket(w.Context(), &s3.CreateBucketInput{Bucket: &name,
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "us-east-2"}})
	w.must(err)
}

func (w *world) link(system, path, bucket string) (*types.DataRepositoryAssociation, error) {
	out, err := w.fsx.CreateDataRepositoryAssociation(w.Context(), &fsx.CreateDataRepositoryAssociationInput{FileSystemId: &system, FileSystemPath: &path,
		DataRepositoryPath: aws.String("s3://" + bucket + "/data"), S3: &types.S3DataRepositoryConfiguration{
			AutoExportPolicy: &types.AutoExportPolicy{Events: []types.EventType{types.EventTypeNew, types.EventTypeChanged}}}})
	if err != nil {
		return nil, err
	}
	return out.Association, nil
}

func (w *world) linked(id string) types.DataRepositoryAssociation {
	w.Helper()
	out, err := w.fsx.DescribeDataRepositoryAssociations(w.Context(), &fsx.DescribeDataRepositoryAssociationsInput{AssociationIds: []string{id}})
	w.must(err)
	return out.Associations[0]
}

func TestLinksLive(t *testing.T) {
	w := start(t)
	w.bucket("data")
	f := w.made()
	a, err := w.link(*f.FileSystemId, "/a", "data")
	w.must(err)
	if a.Lifecycle != "CREATING" || a.S3.AutoExportPolicy == nil || a.S3.AutoImportPolicy != nil {
		t.Errorf("a new link is %+v", a)
	}
	_, err = w.link(*f.FileSystemId, "/a/b", "data")
	w.wantError(err, "BadRequest", "overlaps with /a")
	_, err = w.link("fs-0", "/a", "data")
	w.wantError(err, "FileSystemNotFound", "fs-0")
	w.cloud.Clock.Advance(4 * time.Minute)
	if got := w.linked(*a.AssociationId).Lifecycle; got != "AVAILABLE" {
		t.Errorf("the link is %s", got)
	}
	bad, err := w.link(*f.FileSystemId, "/b", "nothing")
	w.must(err)
	w.cloud.Clock.Advance(4 * time.Minute)
	if got := w.linked(*bad.AssociationId); got.Lifecycle != "FAILED" || !strings.Contains(*got.FailureDetails.Message, "nothing") {
		t.Errorf("a link to no bucket is %s", got.Lifecycle)
	}
	_, err = w.fsx.UpdateDataRepositoryAssociation(t.Context(), &fsx.UpdateDataRepositoryAssociationInput{AssociationId: a.AssociationId, S3: &types.S3DataRepositoryConfiguration{
		AutoImportPolicy: &types.AutoImportPolicy{Events: []types.EventType{types.EventTypeNew}}}})
	w.must(err)
	w.cloud.Clock.Advance(4 * time.Minute)
	if got := w.linked(*a.AssociationId); got.S3.AutoImportPolicy == nil || got.Lifecycle != "AVAILABLE" {
		t.Errorf("after the update it is %+v", got)
	}
	_, err = w.fsx.DeleteDataRepositoryAssociation(t.Context(), &fsx.DeleteDataRepositoryAssociationInput{AssociationId: a.AssociationId, DeleteDataInFileSystem: aws.Bool(false)})
	w.must(err)
	w.cloud.Clock.Advance(4 * time.Minute)
	_, err = w.fsx.DescribeDataRepositoryAssociations(t.Context(), &fsx.DescribeDataRepositoryAssociationsInput{AssociationIds: []string{*a.AssociationId}})
	w.wantError(err, "DataRepositoryAssociationNotFound", *a.AssociationId)
}

func TestLinksNeedAFileSystemThatCanHaveThem(t *testing.T) {
	w := start(t)
	w.bucket("data")
	old := w.made(func(in *fsx.CreateFileSystemInput) { in.LustreConfiguration = nil })
	_, err := w.link(*old.FileSystemId, "/a", "data")
	w.wantError(err, "UnsupportedOperation", "SCRATCH_1")
	f := w.made()
	for i := range 8 {
		_, err := w.link(*f.FileSystemId, "/"+string(rune('a'+i)), "data")
		w.must(err)
	}
	_, err = w.link(*f.FileSystemId, "/z", "data")
	w.wantError(err, "ServiceLimitExceeded", "8 data repository associations")
}

func TestTasksMoveOn(t *testing.T) {
	w := start(t)
	w.bucket("data")
	f := w.made()
	ask := func() (*fsx.CreateDataRepositoryTaskOutput, error) {
		return w.fsx.CreateDataRepositoryTask(t.Context(), &fsx.CreateDataRepositoryTaskInput{FileSystemId: f.FileSystemId, Type: types.DataRepositoryTaskTypeExport,
			Report: &types.CompletionReport{Enabled: aws.Bool(false)}})
	}
	_, err := ask()
	w.wantError(err, "BadRequest", "is not linked")
	_, err = w.link(*f.FileSystemId, "/a", "data")
	w.must(err)
	w.cloud.Clock.Advance(4 * time.Minute)
	made, err := ask()
	w.must(err)
	_, err = ask()
	w.wantError(err, "DataRepositoryTaskExecuting", "already running")
	look := func() types.DataRepositoryTask {
		t.Helper()
		out, err := w.fsx.DescribeDataRepositoryTasks(t.Context(), &fsx.DescribeDataRepositoryTasksInput{TaskIds: []string{*made.DataRepositoryTask.TaskId}})
		w.must(err)
		return out.DataRepositoryTasks[0]
	}
	if got := look().Lifecycle; got != "PENDING" {
		t.Errorf("a new task is %s", got)
	}
	w.cloud.Clock.Advance(3 * time.Minute)
	if got := look(); got.Lifecycle != "EXECUTING" || *got.Status.SucceededCount < 400 || *got.Status.SucceededCount > 600 || *got.Status.TotalCount != 1000 {
		t.Errorf("in the middle it is %s: %+v", got.Lifecycle, got.Status)
	}
	w.cloud.Clock.Advance(3 * time.Minute)
	if got := look(); got.Lifecycle != "SUCCEEDED" || *got.Status.SucceededCount != 1000 || got.EndTime == nil {
		t.Errorf("at the end it is %s: %+v", got.Lifecycle, got.Status)
	}
	w.cloud.FSx.FailTask("a name is too long")
	if made, err = ask(); err != nil {
		t.Fatal(err)
	}
	w.cloud.Clock.Advance(6 * time.Minute)
	if got := look(); got.Lifecycle != "FAILED" || *got.Status.FailedCount != 1 || *got.FailureDetails.Message != "a name is too long" {
		t.Errorf("a task that fails is %s: %+v", got.Lifecycle, got.Status)
	}
}
