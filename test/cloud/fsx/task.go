package fsx

import (
	"context"
	"slices"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Times of a task: until it begins, and while it goes on.
const (
	takesToBegin = 30 * time.Second
	takesToMove  = 5 * time.Minute
)

// task moves data over a link.
type task struct {
	resource
	in taskRequest
}

type taskRequest struct {
	Type, FileSystemId, ClientRequestToken string
	Paths                                  []string
	Report                                 fields
	ReleaseConfiguration                   map[string]any
	CapacityToRelease                      int
	Tags                                   []tag
}

// Files is how many files a task finds.
const Files = 1000

// createTask follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryTask.html
func (s *Service) createTask(_ context.Context, c *wire.Call, in *taskRequest) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.systems.find(in.FileSystemId)
	if err != nil {
		return nil, err
	}
	if old, err := s.tasks.again(s, in.ClientRequestToken, c); old != nil || err != nil {
		return old, err
	}
	linked := slices.ContainsFunc(s.links.all, func(l *link) bool { return l.system == f.id && l.life.at(s.clock.Now()) == "AVAILABLE" })
	switch {
	case !slices.Contains([]string{"EXPORT_TO_REPOSITORY", "IMPORT_METADATA_FROM_REPOSITORY", "RELEASE_DATA_FROM_FILESYSTEM"}, in.Type):
		return nil, badRequest("Invalid task type: %s", in.Type)
	case f.in.LustreConfiguration == nil:
		return nil, wire.Errorf("UnsupportedOperation", "Data repository tasks are supported on Lustre file systems only")
	case in.Report["Enabled"] == nil:
		return nil, badRequest("Report.Enabled is required")
	case f.life.at(s.clock.Now()) != "AVAILABLE":
		return nil, badRequest("File system '%s' is in state %s", f.id, f.life.at(s.clock.Now()))
	case !linked && f.in.LustreConfiguration.ImportPath == "":
		return nil, badRequest("File system '%s' is not linked to a data repository", f.id)
	case slices.ContainsFunc(s.tasks.all, func(t *task) bool { return t.system == f.id && !s.ended(t) }):
		return nil, wire.Errorf("DataRepositoryTaskExecuting", "A data repository task is already running on file system '%s'", f.id)
	}
	t := &task{resource: newResource(c, in.ClientRequestToken, in.Tags), in: *in}
	t.system = f.id
	return add(s, &s.tasks, t, "SUCCEEDED", takesToBegin+takesToMove), nil
}

func (s *Service) ended(t *task) bool {
	return slices.Contains([]string{"SUCCEEDED", "FAILED"}, t.life.at(s.clock.Now()))
}

// showTask follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_DataRepositoryTask.html
func (s *Service) showTask(t *task) fields {
	now := s.clock.Now()
	out := fields{"Type": t.in.Type, "FileSystemId": t.system, "Paths": append([]string{}, t.in.Paths...), "Report": t.in.Report}
	spent := now.Sub(t.life.made) - takesToBegin
	switch {
	case t.life.at(now) != "CREATING":
	case spent < 0:
		out["Lifecycle"] = "PENDING"
		return out
	default:
		out["Lifecycle"] = "EXECUTING"
	}
	done := min(Files, max(0, int64(float64(Files)*float64(spent)/float64(takesToMove))))
	failed := int64(0)
	if t.life.why != "" {
		failed = min(1, done)
	}
	out["StartTime"] = epoch(t.life.made.Add(takesToBegin))
	out["Status"] = fields{"TotalCount": Files, "SucceededCount": done - failed, "FailedCount": failed, "LastUpdatedTime": epoch(now)}
	if s.ended(t) {
		out["EndTime"] = epoch(t.life.made.Add(takesToBegin + takesToMove))
	}
	return out
}
