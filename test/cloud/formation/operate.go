package formation

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// scope is what a stack's values are evaluated in. With unknown, references to
// resources for which it is true give a mark instead of a value.
func (s *Service) scope(st *stack, t *template, params map[string]any, lookup func(reference) (any, error)) *scope {
	suffix := "amazonaws.com"
	partition := "aws"
	switch {
	case strings.HasPrefix(st.region, "cn-"):
		partition, suffix = "aws-cn", "amazonaws.com.cn"
	case strings.HasPrefix(st.region, "us-gov-"):
		partition = "aws-us-gov"
	}
	return &scope{t: t, params: params, lookup: lookup,
		pseudo: map[string]string{"AWS::StackName": st.name, "AWS::StackId": st.id, "AWS::AccountId": st.account, "AWS::Region": st.region,
			"AWS::Partition": partition, "AWS::URLSuffix": suffix},
		export: func(name string) (string, error) { return s.imported(st, name) },
		zones:  func() ([]string, error) { return s.aws.zones(s.ctx) },
	}
}

// reach finds the values of a stack's resources as they are.
func (s *Service) reach(st *stack) func(reference) (any, error) {
	return func(r reference) (v any, err error) {
		s.locked(func() { v, err = st.lookup(r) })
		return v, err
	}
}

func (st *stack) lookup(r reference) (any, error) {
	have := st.resources[r.id]
	if have == nil || have.physical == "" {
		return nil, invalid("Template format error: Unresolved resource dependencies [%s] in the Resources block of the template", r.id)
	}
	if r.attribute != "" {
		v, ok := have.att[r.attribute]
		if !ok {
			return nil, invalid("Attribute '%s' does not exist", r.attribute)
		}
		return v, nil
	}
	if have.ref != "" {
		return have.ref, nil
	}
	return have.physical, nil
}

// wanted are the resources of a template whose conditions hold, in order.
func (sc *scope) wanted() ([]string, error) {
	order, err := sc.t.order()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range order {
		yes := true
		if c := sc.t.Resources[id].Condition; c != "" {
			if yes, err = sc.condition(c); err != nil {
				return nil, err
			}
		}
		if yes {
			out = append(out, id)
		}
	}
	return out, nil
}

// properties are those of a resource, evaluated.
func (sc *scope) properties(id string) (map[string]any, error) {
	v, err := sc.value(sc.t.Resources[id].Properties)
	out, _ := v.(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out, err
}

// createAll makes a stack's resources and ends as the policy says.
func (s *Service) createAll(ctx context.Context, st *stack, op *operation) {
	said := s.deploy(ctx, st, op)
	switch {
	case s.superseded(st, op):
	case said == "":
		s.locked(func() { st.set(s.clock.Now(), "CREATE_COMPLETE", "") })
	case st.failure.onFailure == "DO_NOTHING":
		s.locked(func() { st.set(s.clock.Now(), "CREATE_FAILED", said) })
	case st.failure.onFailure == "DELETE":
		s.locked(func() { st.set(s.clock.Now(), "DELETE_IN_PROGRESS", said+" Delete requested by user.") })
		s.deleteAll(ctx, st, op, nil)
	default:
		s.locked(func() { st.set(s.clock.Now(), "ROLLBACK_IN_PROGRESS", said+" Rollback requested by user.") })
		s.rollbackCreation(ctx, st, op)
	}
}

func (s *Service) rollbackCreation(ctx context.Context, st *stack, op *operation) {
	if !s.clear(ctx, st, nil) {
		s.finish(st, op, "ROLLBACK_FAILED", st.failed("delete"))
		return
	}
	s.finish(st, op, "ROLLBACK_COMPLETE", "")
}

// superseded says that a deletion has taken over, or that the service was closed.
func (s *Service) superseded(st *stack, op *operation) (yes bool) {
	s.locked(func() { yes = st.running != op || s.ctx.Err() != nil })
	return yes
}

// finish sets the last status of an operation, unless another one has taken over.
func (s *Service) finish(st *stack, op *operation, status, reason string) {
	s.locked(func() {
		if st.running == op && s.ctx.Err() == nil {
			st.set(s.clock.Now(), status, reason)
		}
	})
}

// deploy brings a stack's resources to what its template says and returns why it
// could not.
func (s *Service) deploy(ctx context.Context, st *stack, op *operation) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	params, err := s.values(s.ctx, st.t, st.args)
	if err != nil {
		return err.Error()
	}
	sc := s.scope(st, st.t, params, s.reach(st))
	ids, err := sc.wanted()
	if err != nil {
		return err.Error()
	}
	well := walk{ids: ids, after: st.t.needs, first: true, visit: func(ctx context.Context, id string) error {
		return s.bring(ctx, st, sc, id)
	}}.run(ctx)
	if !well {
		var said string
		s.locked(func() {
			said = st.failed("create", "update")
		})
		return said
	}
	outputs, err := s.evaluate(st, sc)
	if err != nil {
		return err.Error()
	}
	s.locked(func() { s.settleOutputs(st, ids, outputs) })
	return ""
}

// settleOutputs keeps outputs, and puts aside what the template no longer has.
func (s *Service) settleOutputs(st *stack, ids []string, outputs []fields) {
	st.outputs = outputs
	for _, id := range slices.Sorted(maps.Keys(st.resources)) {
		if !slices.Contains(ids, id) {
			st.spare = append(st.spare, st.resources[id])
			delete(st.resources, id)
		}
	}
}

// bring makes a resource, changes it, puts a new one in its place, or leaves it.
func (s *Service) bring(ctx context.Context, st *stack, sc *scope, id string) error {
	var have *resource
	s.locked(func() { have = st.resources[id] })
	if have != nil && have.status == "CREATE_FAILED" {
		if err := s.remove(ctx, st, have, "Delete"); err != nil {
			return err
		}
		have = nil
	}
	props, err := sc.properties(id)
	if err != nil {
		s.locked(func() {
			r := &resource{logical: id, kind: st.t.Resources[id].Type, declared: st.t.Resources[id]}
			st.resources[id] = r
			st.mark(s.clock.Now(), r, "CREATE_FAILED", err.Error())
		})
		return err
	}
	if have == nil || have.physical == "" {
		return s.create(ctx, st, id, props, "CREATE")
	}
	changes := differences(have, props, st.tags)
	s.locked(func() { have.declared = st.t.Resources[id] })
	switch {
	case len(changes) == 0 && have.status != "UPDATE_FAILED":
		return nil
	case !slices.ContainsFunc(changes, difference.replaces):
		return s.change(ctx, st, id, props, st.tags)
	}
	if name := kinds[have.kind].name; name != "" && props[name] != nil && text(props[name]) == text(have.props[name]) {
		err := reason("CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename %s and update the stack again.", text(props[name]))
		s.locked(func() {
			st.mark(s.clock.Now(), have, "UPDATE_FAILED", err.Error())
		})
		return err
	}
	return s.create(ctx, st, id, props, "UPDATE")
}

// updateAll brings a stack to a new template and ends as the policy says.
func (s *Service) updateAll(ctx context.Context, st *stack, op *operation) {
	said := s.deploy(ctx, st, op)
	switch {
	case s.superseded(st, op):
	case said == "":
		s.locked(func() { st.set(s.clock.Now(), "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "") })
		s.sweep(ctx, st)
		s.finish(st, op, "UPDATE_COMPLETE", "")
	case st.failure.onFailure == "DO_NOTHING" && ctx.Err() == nil:
		s.finish(st, op, "UPDATE_FAILED", said)
	default:
		s.locked(func() { st.set(s.clock.Now(), "UPDATE_ROLLBACK_IN_PROGRESS", said) })
		s.rollbackUpdate(s.ctx, st, op, nil)
	}
}

// rollbackUpdate goes back to what was before an update.
func (s *Service) rollbackUpdate(ctx context.Context, st *stack, op *operation, skip []string) {
	var order []string
	s.locked(func() {
		st.body, st.t, st.args, st.tags = st.before.body, st.before.t, st.before.args, st.before.tags
		order = slices.Sorted(maps.Keys(st.before.resources))
		for _, id := range slices.Sorted(maps.Keys(st.resources)) {
			if st.before.resources[id] == nil {
				st.spare = append(st.spare, st.resources[id])
				delete(st.resources, id)
			}
		}
	})
	well := walk{ids: order, after: st.t.needs, visit: func(ctx context.Context, id string) error {
		if slices.Contains(skip, id) {
			s.locked(func() { st.mark(s.clock.Now(), st.resources[id], "UPDATE_COMPLETE", "Resource skipped") })
			return nil
		}
		return s.restore(ctx, st, id)
	}}.run(ctx)
	if !well {
		s.finish(st, op, "UPDATE_ROLLBACK_FAILED", st.failed("update"))
		return
	}
	s.locked(func() {
		st.outputs = st.before.outputs
		st.set(s.clock.Now(), "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "")
	})
	s.sweep(ctx, st)
	s.finish(st, op, "UPDATE_ROLLBACK_COMPLETE", "")
}

// restore makes one resource what it was before an update.
func (s *Service) restore(ctx context.Context, st *stack, id string) error {
	var now, was *resource
	s.locked(func() {
		was, now = st.before.resources[id], st.resources[id]
		if now == nil || now.physical != was.physical {
			if now != nil {
				st.spare = append(st.spare, now)
			}
			st.spare = slices.DeleteFunc(st.spare, func(r *resource) bool { return r.logical == id && r.physical == was.physical })
			copied := *was
			st.resources[id] = &copied
			st.mark(s.clock.Now(), &copied, "UPDATE_COMPLETE", "")
			now = nil
		}
	})
	if now == nil || now.status != "UPDATE_FAILED" && len(differences(now, was.props, was.tags)) == 0 {
		return nil
	}
	return s.change(ctx, st, id, was.props, was.tags)
}

// sweep deletes what was put aside. What cannot be deleted is left, as
// CloudFormation leaves it:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/troubleshooting.html
func (s *Service) sweep(ctx context.Context, st *stack) {
	var spare []*resource
	s.locked(func() { spare, st.spare = st.spare, nil })
	back := strings.HasPrefix(st.status, "UPDATE_ROLLBACK")
	s.removeAll(ctx, st, spare, func(r *resource) string {
		p := r.declared.DeletionPolicy
		switch {
		case st.resources[r.logical] != nil:
			return r.declared.UpdateReplacePolicy
		case back && p == "RetainExceptOnCreate":
			return "Delete"
		case p == "RetainExceptOnCreate":
			return "Retain"
		}
		return p
	})
}

// clear deletes what a creation made.
func (s *Service) clear(ctx context.Context, st *stack, retain []string) bool {
	return s.removeAll(ctx, st, st.all(s), func(r *resource) string {
		p := r.declared.DeletionPolicy
		if slices.Contains(retain, r.logical) {
			return "Retain"
		}
		if p == "RetainExceptOnCreate" || p == "Snapshot" {
			return "Delete"
		}
		return p
	})
}

// all are the resources that there still are.
func (st *stack) all(s *Service) []*resource {
	var out []*resource
	s.locked(func() {
		for _, id := range slices.Sorted(maps.Keys(st.resources)) {
			out = append(out, st.resources[id])
		}
		out = append(out, st.spare...)
	})
	return slices.DeleteFunc(out, func(r *resource) bool { return r.status == "DELETE_COMPLETE" || r.status == "DELETE_SKIPPED" })
}

// removeAll deletes resources in the reverse of the order in which they were made.
func (s *Service) removeAll(ctx context.Context, st *stack, all []*resource, policy func(*resource) string) bool {
	byID, policies := map[string]*resource{}, map[string]string{}
	var ids []string
	s.locked(func() {
		for _, r := range all {
			key := r.logical + " " + r.physical
			byID[key], policies[key] = r, policy(r)
			ids = append(ids, key)
		}
	})
	after := func(key string) []string {
		var out []string
		for _, other := range ids {
			if other != key && byID[other].declared.mentions(byID[key].logical) {
				out = append(out, other)
			}
		}
		return out
	}
	return walk{ids: ids, after: after, visit: func(ctx context.Context, key string) error {
		return s.remove(ctx, st, byID[key], policies[key])
	}}.run(ctx)
}

// mentions says that a declaration needs another resource.
func (d *declaration) mentions(id string) bool {
	return slices.Contains(d.DependsOn, id) || slices.ContainsFunc(references(d.Properties), func(r reference) bool { return r.id == id })
}

// deleteAll deletes a stack.
func (s *Service) deleteAll(ctx context.Context, st *stack, op *operation, retain []string) {
	well := s.removeAll(ctx, st, st.all(s), func(r *resource) string {
		if slices.Contains(retain, r.logical) {
			return "Retain"
		}
		return strings.Replace(r.declared.DeletionPolicy, "RetainExceptOnCreate", "Retain", 1)
	})
	if !well {
		s.finish(st, op, "DELETE_FAILED", st.failed("delete"))
		return
	}
	s.locked(func() { st.gone = s.clock.Now() })
	s.finish(st, op, "DELETE_COMPLETE", "")
}
