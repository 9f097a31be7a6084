package formation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// changeSet is a proposal whose consequences can be looked at.
type changeSet struct {
	name, id, kind, about string
	made, ready           time.Time // when it was asked for, and when it is worked out
	p                     *proposal
	failure               failurePolicy
	token                 string
	changes               []*change
	execution             string // AVAILABLE, EXECUTE_IN_PROGRESS, EXECUTE_COMPLETE, EXECUTE_FAILED, UNAVAILABLE
	wrong                 string // why it failed
}

// takesToPlan is how long CloudFormation works on a change set.
const takesToPlan = 5 * time.Second

const noChanges = "The submitted information didn't contain changes. Submit different information to create a change set."

func (st *stack) changeSet(name string) *changeSet {
	for _, c := range st.sets {
		if c.name == name || c.id == name {
			return c
		}
	}
	return nil
}

func noChangeSet(name string) error {
	return &wire.Error{Status: 404, Code: "ChangeSetNotFound", Message: fmt.Sprintf("ChangeSet [%s] does not exist", name)}
}

func (s *Service) createChangeSet(ctx context.Context, r request) (fields, error) {
	name, kind := r.text("ChangeSetName"), cmp.Or(r.text("ChangeSetType"), "UPDATE")
	if err := s.aws.identify(ctx); err != nil {
		return nil, err
	}
	var before *stack
	s.locked(func() { before = s.find(r.text("StackName")) })
	fresh := before == nil || before.status == "REVIEW_IN_PROGRESS"
	switch {
	case kind != "CREATE" && kind != "UPDATE":
		return nil, invalid("The double has no change sets of type %s", kind) // our words
	case kind == "UPDATE" && fresh:
		return nil, invalid("Stack [%s] does not exist", r.text("StackName"))
	case kind == "CREATE" && !fresh:
		return nil, invalid("Stack [%s] already exists and cannot be created again with the changeSet [%s].", before.name, name)
	case kind == "UPDATE" && before.updatable() != nil:
		return nil, before.updatable()
	}
	p, err := s.propose(ctx, r, before)
	if err != nil {
		return nil, err
	}
	policy, err := r.policy()
	if err != nil {
		return nil, err
	}
	st, err := s.reviewed(r, before, p)
	if err != nil {
		return nil, err
	}
	c := &changeSet{name: name, kind: kind, about: r.text("Description"), p: p, failure: policy, token: r.text("ClientToken"), execution: "AVAILABLE",
		id: strings.Replace(st.id, ":stack/"+st.name, ":changeSet/"+name, 1)}
	c.id = c.id[:strings.LastIndex(c.id, "/")+1] + uuid()
	some, err := s.differs(st, p)
	if err == nil {
		c.changes, _, err = s.plan(st, p.t, p.args, p.tags)
	}
	switch {
	case err != nil:
		c.wrong = fault(err).Message
	case !some && kind == "UPDATE":
		c.wrong = noChanges
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := st.changeSet(name); old != nil {
		if old.token != "" && old.token == c.token {
			return fields{"Id": old.id, "StackId": st.id}, nil
		}
		return nil, wire.Errorf("AlreadyExistsException", "ChangeSet %s cannot be created due to a mismatch with existing attribute Template", name)
	}
	c.made = s.clock.Now()
	c.ready = c.made.Add(takesToPlan)
	if c.wrong != "" {
		c.execution = "UNAVAILABLE"
	}
	st.sets = append(st.sets, c)
	return fields{"Id": c.id, "StackId": st.id}, nil
}

// reviewed is the stack that a change set is for: it is made where there is none.
func (s *Service) reviewed(r request, st *stack, p *proposal) (*stack, error) {
	if st != nil {
		return st, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.add(r, r.text("StackName"), p)
	if err == nil {
		st.set(s.clock.Now(), "REVIEW_IN_PROGRESS", "User Initiated")
	}
	return st, err
}

// named finds a change set by its name and stack, or by its ID. Service.mu is held.
func (s *Service) named(r request) (*stack, *changeSet, error) {
	name := r.text("ChangeSetName")
	for _, st := range s.stacks {
		if strings.HasPrefix(name, "arn:") || st == s.find(r.text("StackName")) {
			if c := st.changeSet(name); c != nil {
				return st, c, nil
			}
		}
	}
	if !strings.HasPrefix(name, "arn:") && s.find(r.text("StackName")) == nil {
		return nil, nil, invalid("Stack [%s] does not exist", r.text("StackName"))
	}
	return nil, nil, noChangeSet(name)
}

func (c *changeSet) status(now time.Time) (status, why string) {
	switch {
	case now.Before(c.ready):
		return "CREATE_IN_PROGRESS", ""
	case c.wrong != "":
		return "FAILED", c.wrong
	}
	return "CREATE_COMPLETE", ""
}

func (c *changeSet) summary(st *stack, now time.Time) fields {
	status, why := c.status(now)
	execution := c.execution
	if status == "CREATE_IN_PROGRESS" {
		execution = "UNAVAILABLE"
	}
	return fields{"ChangeSetName": c.name, "ChangeSetId": c.id, "StackId": st.id, "StackName": st.name, "Description": c.about,
		"CreationTime": c.made, "Status": status, "StatusReason": why, "ExecutionStatus": execution}
}

func (s *Service) describeChangeSet(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, c, err := s.named(r)
	if err != nil {
		return nil, err
	}
	out := c.summary(st, s.clock.Now())
	out["Parameters"], out["Tags"], out["Capabilities"] = c.p.t.shown(c.p.args), tagList(c.p.tags), c.p.caps
	out["OnStackFailure"] = c.failure.onFailure
	if out["Status"] != "CREATE_COMPLETE" {
		return out, nil
	}
	var all []fields
	for _, one := range c.changes {
		all = append(all, fields{"Type": "Resource", "ResourceChange": one.describe()})
	}
	out["Changes"], out["NextToken"], err = page(r, all, 100) // a page is 1 MB at AWS
	return out, err
}

// secrets are the values that are never shown.
func (t *template) secrets(g given) []string {
	var out []string
	for name, p := range t.Parameters {
		if p.secret() && g[name] != "" {
			out = append(out, g[name])
		}
	}
	return out
}

// describe follows https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChange.html
func (c *change) describe() fields {
	return fields{"Action": c.action, "LogicalResourceId": c.logical, "PhysicalResourceId": c.physical, "ResourceType": c.kind,
		"Replacement": c.replacement, "Scope": c.scope, "Details": c.detailed()}
}

func (c *change) detailed() []fields {
	var out []fields
	for _, d := range c.details {
		target := fields{"Attribute": d.attribute, "Name": d.name, "RequiresRecreation": d.recreation}
		one := fields{"Target": target, "Evaluation": "Static", "ChangeSource": "DirectModification"}
		if len(d.dynamic) > 0 {
			r := d.dynamic[0]
			one["Evaluation"], one["CausingEntity"] = "Dynamic", r.String()
			one["ChangeSource"] = map[bool]string{true: "ResourceReference", false: "ResourceAttribute"}[r.attribute == ""]
		}
		out = append(out, one)
	}
	return out
}

func (s *Service) deleteChangeSet(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, c, err := s.named(r)
	if e, ok := err.(*wire.Error); ok && e.Code == "ChangeSetNotFound" {
		return nil, nil // deleting what is not there is no error
	}
	if err != nil {
		return nil, err
	}
	if c.execution == "EXECUTE_IN_PROGRESS" {
		return nil, wire.Errorf("InvalidChangeSetStatus", "ChangeSet [%s] cannot be deleted in %s status", c.id, c.execution) // our words
	}
	st.sets = slices.DeleteFunc(st.sets, func(o *changeSet) bool { return o == c })
	return nil, nil
}

func (s *Service) executeChangeSet(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, c, err := s.named(r)
	if err != nil {
		return nil, err
	}
	token := r.text("ClientRequestToken")
	if token != "" && token == st.token {
		return nil, nil
	}
	if status, _ := c.status(s.clock.Now()); status != "CREATE_COMPLETE" || c.execution != "AVAILABLE" {
		if status == "CREATE_COMPLETE" {
			status = c.execution
		}
		return nil, wire.Errorf("InvalidChangeSetStatus", "ChangeSet [%s] cannot be executed in its current status of [%s]", c.id, status)
	}
	policy := c.failure
	if r.has("DisableRollback") {
		policy.onFailure = map[bool]string{true: "DO_NOTHING", false: "ROLLBACK"}[r.yes("DisableRollback")]
	}
	if c.kind == "CREATE" {
		st.become(c.p)
		st.failure, st.token = policy, token
		st.set(s.clock.Now(), "CREATE_IN_PROGRESS", "User Initiated")
		s.start(st, func(ctx context.Context, op *operation) { s.createAll(ctx, st, op) })
	} else if err := s.update(st, c.p, policy, token, "execute-change-set"); err != nil {
		return nil, err
	}
	// The others are deleted, as they no longer fit the stack:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ExecuteChangeSet.html
	c.execution, st.sets = "EXECUTE_COMPLETE", []*changeSet{c}
	return nil, nil
}
