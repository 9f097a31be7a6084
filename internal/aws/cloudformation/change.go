package cloudformation

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Change is what a change set does to one resource.
type Change struct {
	Action Action `json:"action"`
	// Resource is the template's name, Type such as AWS::EC2::Instance, ID what it
	// is called in AWS; empty for a new one.
	Resource string `json:"resource"`
	Type     string `json:"type"`
	ID       string `json:"id,omitempty"`
	// Properties are those that change.
	Properties []string `json:"properties,omitempty"`
	// Keeps says that the resource stays in the account, though the stack forgets it.
	Keeps bool `json:"keeps,omitempty"`
}

// Action is what becomes of a resource.
type Action string

// Actions. MayReplace depends on values that are known only when it happens.
const (
	Add        Action = "add"
	Modify     Action = "modify"
	Replace    Action = "replace"
	MayReplace Action = "may replace"
	Remove     Action = "remove"
)

func changesOf(all []types.Change) []Change {
	var changes []Change
	for _, c := range all {
		if r := c.ResourceChange; r != nil {
			changes = append(changes, changeOf(r))
		}
	}
	return changes
}

func changeOf(r *types.ResourceChange) Change {
	c := Change{
		Action: actionOf(r), Resource: aws.ToString(r.LogicalResourceId), Type: aws.ToString(r.ResourceType), ID: aws.ToString(r.PhysicalResourceId),
		Keeps: r.PolicyAction == types.PolicyActionRetain || r.PolicyAction == types.PolicyActionReplaceAndRetain,
	}
	for _, d := range r.Details {
		if d.Target == nil {
			continue
		}
		name := aws.ToString(d.Target.Name)
		if name == "" {
			name = string(d.Target.Attribute)
		}
		if name != "" && !slices.Contains(c.Properties, name) {
			c.Properties = append(c.Properties, name)
		}
	}
	return c
}

func actionOf(r *types.ResourceChange) Action {
	switch r.Action {
	case types.ChangeActionAdd, types.ChangeActionImport:
		return Add
	case types.ChangeActionRemove:
		return Remove
	}
	switch r.Replacement {
	case types.ReplacementTrue:
		return Replace
	case types.ReplacementConditional:
		return MayReplace
	}
	return Modify
}
