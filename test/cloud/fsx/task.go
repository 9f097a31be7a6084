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
	id, kind, system, token, asked string
	paths                          []string
	report                         fields
	tags                           []tag
	made                           time.Time
	files, failed                  int64
	cancelled                      time.Time
	why                            string
}

// Files is how many files a task finds.
const Files = 1000

// createTask follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryTask.html
func (s *Service) createTask(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		Type, FileSystemId, ClientRequestToken string
		Paths                                  []string
		Report                                 fields
		ReleaseConfiguration                   map[string]any
		CapacityToRelease                      int
		Tags                                   []tag
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.system(in.FileSystemId)
	if err != nil {
		return nil, err
	}
	for _, t := range s.tasks {
		if in.ClientRequestToken != "" && t.token == in.ClientRequestToken {
			if t.asked != string(c.Body) {
				return nil, wire.Errorf("IncompatibleParameterError", "The client request token was used before with other parameters: ClientRequestToken")
			}
			return fields{"DataRepositoryTask": s.describeTask(t)}, nil
		}
	}
	linked := slices.ContainsFunc(s.links, func(l *link) bool { return l.system == f.id && l.life.at(s.clock.Now()) == "AVAILABLE" })
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
	case slices.ContainsFunc(s.tasks, func(t *task) bool { return t.system == f.id && !s.ended(t) }):
		return nil, wire.Errorf("DataRepositoryTaskExecuting", "A data repository task is already running on file system '%s'", f.id)
	}
	t := &task{id: newID("task-"), kind: in.Type, system: f.id, token: in.ClientRequestToken, asked: string(c.Body), paths: in.Paths, report: in.Report,
		tags: in.Tags, made: s.clock.Now(), files: Files}
	if x := s.harm("task"); x != nil {
		t.failed, t.why = 1, x.why
	}
	s.tasks = append(s.tasks, t)
	return fields{"DataRepositoryTask": s.describeTask(t)}, nil
}

// state is a task's, with the number of files that it has dealt with.
func (s *Service) state(t *task) (string, int64) {
	now := s.clock.Now()
	at := now
	if !t.cancelled.IsZero() {
		at = t.cancelled
	}
	spent := at.Sub(t.made) - takesToBegin
	done := min(t.files, max(0, int64(float64(t.files)*float64(spent)/float64(takesToMove))))
	switch {
	case !t.cancelled.IsZero() && now.Before(t.cancelled.Add(takesToBegin)):
		return "CANCELING", done
	case !t.cancelled.IsZero():
		return "CANCELED", done
	case spent < 0:
		return "PENDING", 0
	case spent < takesToMove:
		return "EXECUTING", done
	case t.failed > 0:
		return "FAILED", done
	}
	return "SUCCEEDED", done
}

func (s *Service) ended(t *task) bool {
	state, _ := s.state(t)
	return slices.Contains([]string{"SUCCEEDED", "FAILED", "CANCELED"}, state)
}

// describeTask follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_DataRepositoryTask.html
func (s *Service) describeTask(t *task) fields {
	state, done := s.state(t)
	out := fields{"TaskId": t.id, "Lifecycle": state, "Type": t.kind, "CreationTime": epoch(t.made), "ResourceARN": s.arn("task", t.id),
		"FileSystemId": t.system, "Paths": append([]string{}, t.paths...), "Report": t.report, "Tags": append([]tag{}, t.tags...)}
	if state == "PENDING" {
		return out
	}
	out["StartTime"] = epoch(t.made.Add(takesToBegin))
	failed := min(t.failed, done)
	out["Status"] = fields{"TotalCount": t.files, "SucceededCount": done - failed, "FailedCount": failed, "LastUpdatedTime": epoch(s.clock.Now())}
	if s.ended(t) {
		out["EndTime"] = epoch(t.made.Add(takesToBegin + takesToMove))
	}
	if state == "FAILED" {
		out["FailureDetails"] = fields{"Message": t.why}
	}
	return out
}

func (s *Service) describeTasks(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		TaskIds    []string
		Filters    []filter
		MaxResults int
		NextToken  string
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []fields
	found := map[string]bool{}
	for _, t := range s.tasks {
		state, _ := s.state(t)
		if (len(in.TaskIds) == 0 || slices.Contains(in.TaskIds, t.id)) && passes(in.Filters, map[string]string{"file-system-id": t.system, "task-lifecycle": state}) {
			all = append(all, s.describeTask(t))
			found[t.id] = true
		}
	}
	for _, id := range in.TaskIds {
		if !found[id] && len(in.Filters) == 0 {
			return nil, noTask(id)
		}
	}
	some, next, err := page(all, in.NextToken, in.MaxResults)
	return answer("DataRepositoryTasks", some, next), err
}

func noTask(id string) error {
	return wire.Errorf("DataRepositoryTaskNotFound", "Data repository task '%s' does not exist.", id)
}

func (s *Service) cancelTask(_ context.Context, c *wire.Call) (fields, error) {
	var in struct{ TaskId string }
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return t.id == in.TaskId })
	if i < 0 {
		return nil, noTask(in.TaskId)
	}
	t := s.tasks[i]
	if s.ended(t) {
		return nil, wire.Errorf("DataRepositoryTaskEnded", "Data repository task '%s' has ended", t.id)
	}
	if t.cancelled.IsZero() {
		t.cancelled = s.clock.Now()
	}
	return fields{"TaskId": t.id, "Lifecycle": "CANCELING"}, nil
}
