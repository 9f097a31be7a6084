package formation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// kind is how resources of a type are made, changed and removed.
type kind struct {
	takes time.Duration // to be made, on the double's clock
	goes  time.Duration // to be removed
	// name is the property that names the resource for all the account, if there is one.
	name   string
	create work
	// ready says whether what was created or changed can be used.
	ready func(context.Context, *job) (bool, error)
	// update changes it in place. It is nil where no property can be changed so.
	update work
	remove work
	// gone says whether what was removed is no more.
	gone func(context.Context, *job) (bool, error)
}

// job is one piece of work on one resource.
type job struct {
	aws     *clients
	stack   *stack
	logical string
	kind    string
	props   map[string]any
	old     map[string]any // of an update
	tags    map[string]string
	oldTags map[string]string
	id      string // physical
	att     map[string]any
	ref     string
	final   bool // a removal makes a snapshot first
}

func (s *Service) job(st *stack, r *resource) *job {
	return &job{aws: s.aws, stack: st, logical: r.logical, kind: r.kind, props: r.props, tags: r.tags, id: r.physical, att: maps.Clone(r.att), ref: r.ref}
}

// errCancelled is why the work on a resource ends when that on another one failed.
var errCancelled = errors.New("cancelled")

// create makes a resource of the stack's template. The prefix is CREATE, or UPDATE
// where the resource takes the place of another one.
func (s *Service) create(ctx context.Context, st *stack, id string, props map[string]any, prefix string) error {
	k := kinds[st.t.Resources[id].Type]
	r := &resource{logical: id, kind: st.t.Resources[id].Type, declared: st.t.Resources[id], props: props, tags: st.tags}
	s.locked(func() {
		if old := st.resources[id]; old != nil && prefix == "UPDATE" {
			r.physical = old.physical
			st.mark(s.clock.Now(), r, "UPDATE_IN_PROGRESS", "Requested update requires the creation of a new physical resource; hence creating one.")
			r.physical = ""
			st.spare = append(st.spare, old)
		} else {
			st.mark(s.clock.Now(), r, "CREATE_IN_PROGRESS", "")
		}
		st.resources[id] = r
	})
	err := s.make(ctx, st, r, k, prefix)
	if errors.Is(err, context.Canceled) {
		err = errCancelled
	}
	s.locked(func() {
		switch {
		case errors.Is(err, errCancelled):
			st.mark(s.clock.Now(), r, prefix+"_FAILED", map[string]string{"CREATE": "Resource creation cancelled", "UPDATE": "Resource update cancelled"}[prefix])
		case err != nil:
			st.mark(s.clock.Now(), r, prefix+"_FAILED", err.Error())
		default:
			st.mark(s.clock.Now(), r, prefix+"_COMPLETE", "")
		}
	})
	return err
}

func (s *Service) make(ctx context.Context, st *stack, r *resource, k *kind, prefix string) error {
	if err := allowed(r); err != nil {
		return err
	}
	if said := s.hurt(st, r.logical).fail; said != "" {
		return errors.New(said)
	}
	j := s.job(st, r)
	j.att = map[string]any{}
	// A stack lists a resource by its ID once the type's handler has returned it, which may
	// take a minute in which the resource is there already:
	// https://repost.aws/knowledge-center/cloudformation-physical-resource-error
	err := k.create(s.ctx, j)
	s.locked(func() {
		r.physical, r.att, r.ref = j.id, j.att, j.ref
		if err == nil {
			st.mark(s.clock.Now(), r, prefix+"_IN_PROGRESS", "Resource creation Initiated")
		}
	})
	if err != nil {
		return handled(err)
	}
	return s.settle(ctx, st, r, k, j)
}

// settle waits until a resource that was made or changed can be used.
func (s *Service) settle(ctx context.Context, st *stack, r *resource, k *kind, j *job) error {
	if err := s.unstuck(ctx, st, r.logical); err != nil {
		return err
	}
	if err := s.sleep(ctx, k.takes); err != nil {
		return err
	}
	if k.ready == nil {
		return nil
	}
	err := s.wait(ctx, func() (bool, error) { return k.ready(s.ctx, j) })
	s.locked(func() { r.att, r.ref = j.att, j.ref })
	if errors.Is(err, context.Canceled) {
		return err
	}
	return handled(err)
}

// change updates a resource in place to the given properties. It is back when the
// properties are those of before a failed update.
func (s *Service) change(ctx context.Context, st *stack, id string, props map[string]any, tags map[string]string) error {
	var r *resource
	s.locked(func() {
		next := *st.resources[id]
		r = &next
		r.declared = st.t.Resources[id]
		st.resources[id] = r
		st.mark(s.clock.Now(), r, "UPDATE_IN_PROGRESS", "")
	})
	k, j := kinds[r.kind], s.job(st, r)
	j.old, j.oldTags, j.props, j.tags = r.props, r.tags, props, tags
	if r.tried != nil {
		j.old = r.tried
	}
	err := allowed(&resource{kind: r.kind, props: props})
	if said := s.hurt(st, id).fail; err == nil && said != "" {
		err = errors.New(said)
	}
	if err == nil && k.update == nil {
		err = reason("Update to resource type %s is not supported.", r.kind)
	}
	if err == nil {
		err = handled(k.update(s.ctx, j))
	}
	if err == nil {
		s.locked(func() { r.physical, r.att, r.ref, r.props, r.tags = j.id, j.att, j.ref, props, tags })
		err = s.settle(ctx, st, r, &kind{ready: k.ready, takes: min(k.takes, 30*time.Second)}, j)
	}
	s.locked(func() {
		switch {
		case errors.Is(err, context.Canceled):
			r.tried = props
			st.mark(s.clock.Now(), r, "UPDATE_FAILED", "Resource update cancelled")
		case err != nil:
			r.tried = props
			st.mark(s.clock.Now(), r, "UPDATE_FAILED", err.Error())
		default:
			r.tried = nil
			st.mark(s.clock.Now(), r, "UPDATE_COMPLETE", "")
		}
	})
	return err
}

// patience is how long CloudFormation goes on when what it deletes is still in use.
const patience = 5 * time.Minute

// remove deletes a resource, or leaves it where its policy says so.
func (s *Service) remove(ctx context.Context, st *stack, r *resource, policy string) error {
	if r.physical == "" {
		s.locked(func() { st.mark(s.clock.Now(), r, "DELETE_COMPLETE", "") })
		return nil
	}
	if policy == "Retain" {
		s.locked(func() { st.mark(s.clock.Now(), r, "DELETE_SKIPPED", "") })
		return nil
	}
	s.locked(func() { st.mark(s.clock.Now(), r, "DELETE_IN_PROGRESS", "") })
	k, j := kinds[r.kind], s.job(st, r)
	j.final = policy == "Snapshot"
	err := s.unmake(ctx, st, r, k, j)
	if errors.Is(err, context.Canceled) {
		return err
	}
	s.locked(func() {
		if err != nil {
			st.mark(s.clock.Now(), r, "DELETE_FAILED", err.Error())
			return
		}
		st.mark(s.clock.Now(), r, "DELETE_COMPLETE", "")
	})
	return err
}

func (s *Service) unmake(ctx context.Context, st *stack, r *resource, k *kind, j *job) error {
	if err := s.unstuck(ctx, st, r.logical); err != nil {
		return err
	}
	if said := s.hurt(st, r.logical).failDelete; said != "" {
		return errors.New(said)
	}
	until := s.clock.Now().Add(patience)
	err := s.wait(ctx, func() (bool, error) {
		err := k.remove(s.ctx, j)
		if missing(err) {
			return true, nil
		}
		if inUse(err) && s.clock.Now().Before(until) {
			return false, nil
		}
		return err == nil, err
	})
	if err == nil {
		err = s.sleep(ctx, k.goes)
	}
	if err == nil && k.gone != nil {
		err = s.wait(ctx, func() (bool, error) {
			ok, err := k.gone(s.ctx, j)
			return ok || missing(err), ignoreMissing(err)
		})
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return handled(err)
}

// reason is a text of CloudFormation's as an error.
func reason(format string, args ...any) error { return failure(fmt.Sprintf(format, args...)) }

type failure string

func (f failure) Error() string { return string(f) }

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

func missing(err error) bool {
	c := code(err)
	return strings.Contains(c, "NotFound") || strings.HasPrefix(c, "NoSuch") || c == "ResourceNotFoundException" || c == "InvalidAssociationID"
}

func ignoreMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

func inUse(err error) bool {
	return slices.Contains([]string{"DependencyViolation", "DeleteConflict", "VolumeInUse", "InvalidPlacementGroup.InUse", "ResourceInUse"}, code(err))
}

// allowed holds properties against the type's schema. The text is that of a resource
// whose schema CloudFormation checks, as users report it.
func allowed(r *resource) error {
	f := facts[r.kind]
	for _, name := range slices.Sorted(maps.Keys(r.props)) {
		if !slices.Contains(f.Properties, name) {
			return reason("Properties validation failed for resource %s with message:\n#: extraneous key [%s] is not permitted", r.logical, name)
		}
		if slices.Contains(f.Attributes, name) {
			return reason("Encountered unsupported property %s", name)
		}
	}
	for _, name := range f.Required {
		if r.props[name] == nil {
			return reason("Properties validation failed for resource %s with message:\n#: required key [%s] not found", r.logical, name)
		}
	}
	return nil
}

// handled is an error of a service as CloudFormation's handlers report it:
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
func handled(err error) error {
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	status, id := 400, ""
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = r.HTTPStatusCode()
	}
	if r, ok := errors.AsType[interface {
		error
		ServiceRequestID() string
	}](err); ok {
		id = r.ServiceRequestID()
	}
	service := "Double"
	if o, ok := errors.AsType[*smithy.OperationError](err); ok {
		service = strings.ReplaceAll(o.ServiceID, " ", "")
		if service == "EC2" {
			service = "Ec2"
		}
	}
	return reason("Resource handler returned message: \"%s (Service: %s, Status Code: %d, Request ID: %s)\" (RequestToken: %s, HandlerErrorCode: %s)",
		e.ErrorMessage(), service, status, cmp.Or(id, uuid()), uuid(), handlerCode(e.ErrorCode()))
}

func handlerCode(c string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(c, p) })
	}
	switch {
	case has("LimitExceeded", "QuotaExceeded"):
		return "ServiceLimitExceeded"
	case has("Throttl", "RequestLimit", "SlowDown"):
		return "Throttling"
	case has("AlreadyExists", "Duplicate", "AlreadyOwnedByYou"):
		return "AlreadyExists"
	case has("NotFound", "NoSuch"):
		return "NotFound"
	case has("AccessDenied", "Unauthorized"):
		return "AccessDenied"
	case has("Capacity"):
		return "GeneralServiceException"
	case has("DependencyViolation", "Conflict", "InUse", "NotEmpty"):
		return "InvalidRequest"
	}
	return "InvalidRequest"
}
