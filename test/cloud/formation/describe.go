package formation

import (
	"context"
	"maps"
	"slices"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

func (s *Service) describeStacks(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.text("StackName")
	if name != "" {
		st := s.find(name)
		if st == nil {
			return nil, invalid(noWithID, name)
		}
		return fields{"Stacks": []fields{st.describe()}}, nil
	}
	var all []fields
	for _, st := range slices.Backward(s.stacks) {
		if st.status != "DELETE_COMPLETE" {
			all = append(all, st.describe())
		}
	}
	some, next, err := page(r, all, 100)
	return fields{"Stacks": some, "NextToken": next}, err
}

func (st *stack) describe() fields {
	return fields{"StackName": st.name, "StackId": st.id, "StackStatus": st.status, "StackStatusReason": st.reason,
		"CreationTime": st.created, "LastUpdatedTime": st.updated, "DeletionTime": st.gone, "Description": st.t.Description,
		"Parameters": st.t.shown(st.args), "Outputs": st.outputs, "Capabilities": st.caps, "Tags": tagList(st.tags), "RoleARN": st.role,
		"DisableRollback": st.failure.onFailure == "DO_NOTHING", "EnableTerminationProtection": st.protected,
		"DriftInformation": fields{"StackDriftStatus": "NOT_CHECKED"}}
}

func tagList(tags map[string]string) []fields {
	var out []fields
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, fields{"Key": key, "Value": tags[key]})
	}
	return out
}

// Tagged implements wire.Tagged: the Resource Groups Tagging API lists stacks.
func (s *Service) Tagged() []wire.Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []wire.Resource
	for _, st := range s.stacks {
		if st.status != "DELETE_COMPLETE" && len(st.tags) > 0 {
			out = append(out, wire.Resource{ARN: st.id, Tags: maps.Clone(st.tags)})
		}
	}
	return out
}

func (s *Service) describeEvents(st *stack, r request) (fields, error) {
	all := slices.Clone(st.events)
	slices.Reverse(all)
	some, next, err := page(r, all, 100)
	return fields{"StackEvents": some, "NextToken": next}, err
}

func (st *stack) rows() []fields {
	var out []fields
	for _, id := range slices.Sorted(maps.Keys(st.resources)) {
		out = append(out, st.row(st.resources[id]))
	}
	return out
}

func (st *stack) row(r *resource) fields {
	return fields{"StackId": st.id, "StackName": st.name, "LogicalResourceId": r.logical, "PhysicalResourceId": r.physical, "ResourceType": r.kind,
		"ResourceStatus": r.status, "ResourceStatusReason": r.reason, "Timestamp": r.changed, "LastUpdatedTimestamp": r.changed,
		"DriftInformation": fields{"StackResourceDriftStatus": "NOT_CHECKED"}}
}

func (s *Service) listResources(st *stack, r request) (fields, error) {
	some, next, err := page(r, st.rows(), 100)
	return fields{"StackResourceSummaries": some, "NextToken": next}, err
}

func (s *Service) getTemplate(st *stack, r request) (fields, error) {
	if name := r.text("ChangeSetName"); name != "" {
		c := st.changeSet(name)
		if c == nil {
			return nil, noChangeSet(name)
		}
		return fields{"TemplateBody": c.p.body}, nil
	}
	return fields{"TemplateBody": st.body, "StagesAvailable": []string{"Original", "Processed"}}, nil
}
