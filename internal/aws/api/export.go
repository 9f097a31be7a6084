package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/fsx/types"

	"github.com/muster-hpc/muster/internal/say/count"
)

// Link is a data-repository association of a file system.
type Link struct {
	ID string `json:"id"`
	// Path is the file system's directory, Repository the place in S3.
	Path       string `json:"path"`
	Repository string `json:"repository"`
	// Exports says that new, changed and deleted files go there by themselves.
	Exports bool `json:"exports"`
}

// Links are the data-repository associations of a file system.
func (a *Account) Links(ctx context.Context, fileSystem string) ([]Link, error) {
	var all []Link
	for page, err := range pagesOf(ctx, fsx.NewDescribeDataRepositoryAssociationsPaginator(fsx.NewFromConfig(a.config), &fsx.DescribeDataRepositoryAssociationsInput{
		Filters: []types.Filter{{Name: types.FilterNameFileSystemId, Values: []string{fileSystem}}},
	})) {
		if err != nil {
			return nil, failed(err, "list the links of %s with S3", fileSystem)
		}
		for _, d := range page.Associations {
			l := Link{ID: aws.ToString(d.AssociationId), Path: aws.ToString(d.FileSystemPath), Repository: aws.ToString(d.DataRepositoryPath)}
			l.Exports = d.S3 != nil && d.S3.AutoExportPolicy != nil && len(d.S3.AutoExportPolicy.Events) > 0
			all = append(all, l)
		}
	}
	return all, nil
}

// Exported is what an export brought to S3.
type Exported struct{ Total, Failed int64 }

// exportLimit is how long an export may take, exportLook how often it is looked at.
const (
	exportLimit = 24 * time.Hour
	exportLook  = 2 * time.Second
)

// Export has FSx write everything below the paths that S3 does not have yet, and
// waits for the end. A task that runs already is waited for before. It fails unless
// every file got there.
func (a *Account) Export(ctx context.Context, fileSystem string, paths []string, waiting func(done, total int64)) (Exported, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, exportLimit, fmt.Errorf("the export did not end within %s", exportLimit))
	defer cancel()
	client := fsx.NewFromConfig(a.config)
	for {
		running, last, err := a.tasks(ctx, client, fileSystem)
		if err != nil {
			return Exported{}, err
		}
		if running != "" {
			if _, err := a.task(ctx, client, running, waiting); err != nil {
				return Exported{}, err // how another's task ended is not asked
			}
			continue
		}
		out, err := client.CreateDataRepositoryTask(ctx, &fsx.CreateDataRepositoryTaskInput{
			FileSystemId: &fileSystem, Type: types.DataRepositoryTaskTypeExport, Paths: relative(paths),
			Report: &types.CompletionReport{Enabled: aws.Bool(false)}, ClientRequestToken: aws.String(exportToken(fileSystem, last)),
		})
		var busy *types.DataRepositoryTaskExecuting
		if errors.As(err, &busy) {
			continue
		}
		if err != nil {
			return Exported{}, failed(err, "export %s", fileSystem)
		}
		task, err := a.task(ctx, client, aws.ToString(out.DataRepositoryTask.TaskId), waiting)
		if err != nil {
			return Exported{}, err
		}
		done := counted(task)
		return done, verdict(task, done)
	}
}

// tasks finds the file system's task that runs, and the newest of all.
func (a *Account) tasks(ctx context.Context, client *fsx.Client, fileSystem string) (running, last string, err error) {
	var newest time.Time
	for page, err := range pagesOf(ctx, fsx.NewDescribeDataRepositoryTasksPaginator(client, &fsx.DescribeDataRepositoryTasksInput{
		Filters: []types.DataRepositoryTaskFilter{{Name: types.DataRepositoryTaskFilterNameFileSystemId, Values: []string{fileSystem}}},
	})) {
		if err != nil {
			return "", "", failed(err, "list the tasks of %s", fileSystem)
		}
		for _, t := range page.DataRepositoryTasks {
			if !ended(t.Lifecycle) {
				running = aws.ToString(t.TaskId)
			}
			if at := aws.ToTime(t.CreationTime); !at.Before(newest) {
				newest, last = at, aws.ToString(t.TaskId)
			}
		}
	}
	return running, last, nil
}

func ended(l types.DataRepositoryTaskLifecycle) bool {
	return slices.Contains([]types.DataRepositoryTaskLifecycle{
		types.DataRepositoryTaskLifecycleSucceeded, types.DataRepositoryTaskLifecycleFailed, types.DataRepositoryTaskLifecycleCanceled,
	}, l)
}

// task waits for the end of a task.
func (a *Account) task(ctx context.Context, client *fsx.Client, id string, waiting func(done, total int64)) (types.DataRepositoryTask, error) {
	tick := time.NewTicker(exportLook)
	defer tick.Stop()
	for {
		out, err := client.DescribeDataRepositoryTasks(ctx, &fsx.DescribeDataRepositoryTasksInput{TaskIds: []string{id}})
		if err != nil {
			return types.DataRepositoryTask{}, failed(err, "look at the export %s", id)
		}
		if len(out.DataRepositoryTasks) == 0 {
			return types.DataRepositoryTask{}, fmt.Errorf("the export %s is gone", id)
		}
		t := out.DataRepositoryTasks[0]
		if ended(t.Lifecycle) {
			return t, nil
		}
		if t.Status != nil && waiting != nil {
			waiting(aws.ToInt64(t.Status.SucceededCount), aws.ToInt64(t.Status.TotalCount))
		}
		select {
		case <-ctx.Done():
			return t, fmt.Errorf("wait for the export %s: %w", id, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func counted(t types.DataRepositoryTask) Exported {
	if t.Status == nil {
		return Exported{}
	}
	return Exported{Total: aws.ToInt64(t.Status.TotalCount), Failed: aws.ToInt64(t.Status.FailedCount)}
}

// verdict is nil only if the task says that every file is in S3.
func verdict(t types.DataRepositoryTask, done Exported) error {
	id := aws.ToString(t.TaskId)
	switch {
	case t.FailureDetails != nil && aws.ToString(t.FailureDetails.Message) != "":
		return fmt.Errorf("the export %s ended %s: %s", id, t.Lifecycle, aws.ToString(t.FailureDetails.Message))
	case t.Lifecycle != types.DataRepositoryTaskLifecycleSucceeded:
		return fmt.Errorf("the export %s ended %s", id, t.Lifecycle)
	case done.Failed > 0:
		return fmt.Errorf("the export %s left out %d of %s", id, done.Failed, count.Of(done.Total, "file"))
	}
	return nil
}

// relative are paths as a task takes them: without the slash in front.
func relative(paths []string) []string {
	var all []string
	for _, p := range paths {
		if p = strings.Trim(p, "/"); p != "" {
			all = append(all, p)
		}
	}
	return all
}

// exportToken is the same for the same call after a crash, and another one once a
// task of it is known.
func exportToken(fileSystem, last string) string {
	sum := sha256.Sum256([]byte("export " + fileSystem + " " + last))
	return hex.EncodeToString(sum[:16])
}
