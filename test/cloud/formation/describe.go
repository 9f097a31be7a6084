package formation

import (
	"context"
	"maps"
	"slices"
	"strings"

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

func (s *Service) listStacks(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	filter := r.list("StackStatusFilter")
	var all []fields
	for _, st := range slices.Backward(s.stacks) {
		if len(filter) == 0 || slices.Contains(filter, st.status) {
			all = append(all, fields{"StackName": st.name, "StackId": st.id, "StackStatus": st.status, "StackStatusReason": st.reason,
				"CreationTime": st.created, "LastUpdatedTime": st.updated, "DeletionTime": st.gone, "TemplateDescription": st.t.Description})
		}
	}
	some, next, err := page(r, all, 100)
	return fields{"StackSummaries": some, "NextToken": next}, err
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

func (s *Service) describeResources(_ context.Context, r request) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, logical, physical := r.text("StackName"), r.text("LogicalResourceId"), r.text("PhysicalResourceId")
	if (name == "") == (physical == "") {
		return nil, invalid("Exactly one of StackName and PhysicalResourceId must be specified") // our words
	}
	var out []fields
	for _, st := range s.stacks {
		if name != "" && st != s.find(name) || name == "" && !st.owns(physical) {
			continue
		}
		for _, row := range st.rows() {
			if logical == "" || row["LogicalResourceId"] == logical {
				out = append(out, row)
			}
		}
	}
	if name != "" && s.find(name) == nil || physical != "" && out == nil {
		return nil, invalid("Stack for %s does not exist", name+physical)
	}
	// The call answers with 100 resources at most, and has no pages:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html
	return fields{"StackResources": out[:min(len(out), 100)]}, nil
}

func (st *stack) owns(physical string) bool {
	for _, r := range st.resources {
		if r.physical == physical {
			return true
		}
	}
	return false
}

func (s *Service) describeResource(st *stack, r request) (fields, error) {
	logical := r.text("LogicalResourceId")
	have := st.resources[logical]
	if have == nil {
		return nil, invalid("Resource %s does not exist for stack %s", logical, r.text("StackName"))
	}
	return fields{"StackResourceDetail": st.row(have)}, nil
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

func (s *Service) validateTemplate(ctx context.Context, r request) (fields, error) {
	body, err := s.body(ctx, r)
	if err != nil {
		return nil, err
	}
	t, err := parse(body)
	if err != nil {
		return nil, err
	}
	return t.summary("Parameters"), nil
}

// summary is what a template says of itself.
func (t *template) summary(list string) fields {
	var params []fields
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		p := t.Parameters[name]
		params = append(params, fields{"ParameterKey": name, "DefaultValue": text(p.Default), "NoEcho": p.secret(), "Description": p.Description})
	}
	caps := t.capabilities()
	why := ""
	if caps != nil {
		why = "The following resource(s) require capabilities: [" + strings.Join(t.iam(), ", ") + "]"
	}
	return fields{list: params, "Description": t.Description, "Capabilities": caps, "CapabilitiesReason": why}
}

// iam are the types of IAM that the template has.
func (t *template) iam() []string {
	types := map[string]bool{}
	for _, r := range t.Resources {
		if strings.HasPrefix(r.Type, "AWS::IAM::") {
			types[r.Type] = true
		}
	}
	return slices.Sorted(maps.Keys(types))
}

func (s *Service) templateSummary(ctx context.Context, r request) (fields, error) {
	body, err := s.body(ctx, r)
	if err != nil {
		return nil, err
	}
	if name := r.text("StackName"); body == "" {
		s.locked(func() {
			if st := s.find(name); st != nil {
				body = st.body
			}
		})
		if body == "" {
			return nil, invalid(noWithID, name)
		}
	}
	t, err := parse(body)
	if err != nil {
		return nil, err
	}
	types := map[string]bool{}
	for _, d := range t.Resources {
		types[d.Type] = true
	}
	out := t.summary("Parameters")
	out["ResourceTypes"] = slices.Sorted(maps.Keys(types))
	return out, nil
}
