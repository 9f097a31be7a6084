package fsx

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// resource is what resources of all kinds have.
type resource struct {
	id     string
	system string // the file system that it belongs to
	token  string // of the request that made it
	asked  string // that request as it came
	tags   []tag
	life   life
}

func (r *resource) itself() *resource { return r }

type item interface{ itself() *resource }

// shelf has the resources of one kind.
type shelf[T item] struct {
	prefix    string // of an ID
	one, list string // members of answers: a resource, resources
	id        string // and an ID
	arn       string
	inSystem  bool // the ARN names the file system, too
	code      string
	noun      string
	show      func(T) fields // what only this kind has
	all       []T
}

// life is a state that ends at a time.
type life struct {
	state, next string
	until       time.Time
	why         string // of a state that is a failure
	made        time.Time
}

func (l life) at(now time.Time) string {
	if l.next != "" && !now.Before(l.until) {
		return l.next
	}
	return l.state
}

func (l *life) become(now time.Time, state, next string, after time.Duration) {
	l.state, l.next, l.until = state, next, now.Add(after)
}

const gone = "gone"

// act is an operation.
type act func(context.Context, *wire.Call) (fields, error)

// reads is an operation with a request of a type. What the request has and the type
// has not is refused.
func reads[I any](do func(context.Context, *wire.Call, *I) (fields, error)) act {
	return func(ctx context.Context, c *wire.Call) (fields, error) {
		in := new(I)
		if err := decode(c, in); err != nil {
			return nil, err
		}
		return do(ctx, c, in)
	}
}

// locked is an operation for all of which Service.mu is held.
func locked[I any](s *Service, do func(*I) (fields, error)) act {
	return reads(func(_ context.Context, _ *wire.Call, in *I) (fields, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return do(in)
	})
}

// newResource is one that a request asks for.
func newResource(c *wire.Call, token string, tags []tag) resource {
	return resource{token: token, asked: string(c.Body), tags: tags}
}

// add puts a resource onto its shelf, which it reaches its state on after a time.
// Service.mu is held.
func add[T item](s *Service, x *shelf[T], one T, state string, after time.Duration) fields {
	r := one.itself()
	r.id, r.life.made = cmp.Or(r.id, newID(x.prefix)), s.clock.Now()
	r.life.become(r.life.made, "CREATING", state, after)
	if f := s.harm(x.arn); f != nil {
		r.life.next, r.life.why = f.state, f.why
	}
	x.all = append(x.all, one)
	return fields{x.one: x.describe(s, one)}
}

// again answers a request that was made before with the same token. Service.mu is held.
func (x *shelf[T]) again(s *Service, token string, c *wire.Call) (fields, error) {
	for _, one := range x.all {
		switch r := one.itself(); {
		case token == "" || r.token != token:
		case r.asked != string(c.Body):
			return nil, wire.Errorf("IncompatibleParameterError", "The client request token was used before with other parameters: ClientRequestToken")
		default:
			return fields{x.one: x.describe(s, one)}, nil
		}
	}
	return nil, nil
}

// find finds a resource. Service.mu is held.
func (x *shelf[T]) find(id string) (T, error) {
	for _, one := range x.all {
		if one.itself().id == id {
			return one, nil
		}
	}
	var none T
	return none, wire.Errorf(x.code, "%s '%s' does not exist.", x.noun, id)
}

func (x *shelf[T]) arnOf(s *Service, r *resource) string {
	if x.inSystem {
		return s.arn(x.arn, r.system+"/"+r.id)
	}
	return s.arn(x.arn, r.id)
}

func (x *shelf[T]) describe(s *Service, one T) fields {
	r := one.itself()
	state := r.life.at(s.clock.Now())
	out := fields{x.id: r.id, "Lifecycle": state, "CreationTime": epoch(r.life.made), "ResourceARN": x.arnOf(s, r), "Tags": append([]tag{}, r.tags...)}
	if r.life.why != "" && state == r.life.next {
		out["FailureDetails"] = fields{"Message": r.life.why}
	}
	for name, v := range x.show(one) {
		out[name] = v
	}
	return out
}

// filter selects by name and values.
type filter struct {
	Name   string
	Values []string
}

// passes says that a resource satisfies all filters.
func passes(filters []filter, r *resource, state any) bool {
	have := map[string]any{"file-system-id": r.system, "data-repository-type": "S3", "file-system-type": "LUSTRE", "task-lifecycle": state}
	return !slices.ContainsFunc(filters, func(f filter) bool {
		return !slices.ContainsFunc(f.Values, func(v string) bool { return v == have[f.Name] })
	})
}

// question is a request of any Describe: it has the list of IDs of its kind.
type question struct {
	FileSystemIds, AssociationIds, TaskIds, VolumeIds, BackupIds, FileCacheIds, StorageVirtualMachineIds []string

	Filters    []filter
	MaxResults int
	NextToken  string
}

// describing is the Describe of a kind.
func describing[T item](s *Service, x *shelf[T]) act {
	return locked(s, func(in *question) (fields, error) {
		ids := slices.Concat(in.FileSystemIds, in.AssociationIds, in.TaskIds, in.VolumeIds, in.BackupIds, in.FileCacheIds, in.StorageVirtualMachineIds)
		for _, id := range ids {
			if _, err := x.find(id); err != nil {
				return nil, err
			}
		}
		var all []fields
		for _, one := range x.all {
			shown := x.describe(s, one)
			if r := one.itself(); (len(ids) == 0 || slices.Contains(ids, r.id)) && passes(in.Filters, r, shown["Lifecycle"]) {
				all = append(all, shown)
			}
		}
		some, next, err := page(all, in.NextToken, in.MaxResults)
		out := fields{x.list: some}
		if next != "" {
			out["NextToken"] = next
		}
		return out, err
	})
}

// deletion is a request of any Delete: it has the ID of its kind.
type deletion struct {
	FileSystemId, AssociationId, VolumeId, BackupId, FileCacheId, ClientRequestToken string
	DeleteDataInFileSystem                                                           bool
	LustreConfiguration, OpenZFSConfiguration, OntapConfiguration                    map[string]any
}

// deleting is the Delete of a kind, whose resources are in a state for a time before
// they are gone. The function says what else a deletion means.
func deleting[T item](s *Service, x *shelf[T], state string, after time.Duration, also func(T, *deletion) error) act {
	return locked(s, func(in *deletion) (fields, error) {
		one, err := x.find(cmp.Or(in.FileSystemId, in.AssociationId, in.VolumeId, in.BackupId, in.FileCacheId))
		if err != nil {
			return nil, err
		}
		r, now := one.itself(), s.clock.Now()
		if r.life.at(now) != state {
			if also != nil {
				err = also(one, in)
			}
			if err != nil {
				return nil, err
			}
			r.life.become(now, state, gone, after)
		}
		out := fields{x.id: r.id, "Lifecycle": state}
		if in.AssociationId != "" {
			out["DeleteDataInFileSystem"] = in.DeleteDataInFileSystem
		}
		return out, nil
	})
}

// goes takes away what has gone, and what belongs to it. Service.mu is held.
func (x *shelf[T]) goes(now time.Time, with func(*resource) bool) {
	x.all = slices.DeleteFunc(x.all, func(one T) bool { r := one.itself(); return r.life.at(now) == gone || with(r) })
}
