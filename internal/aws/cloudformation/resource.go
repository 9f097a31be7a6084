package cloudformation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Resource is a resource that a stack has made.
type Resource struct {
	// Name is the template's, ID what it is called in AWS.
	Name   string `json:"name"`
	Type   string `json:"type"`
	ID     string `json:"id,omitempty"`
	Status string `json:"status"`
}

// LetGo says that the stack was to delete it and has left it in the account.
func (r Resource) LetGo() bool { return r.Status == string(types.ResourceStatusDeleteSkipped) }

// Resources are those that a stack has and that are not deleted.
func (d *Driver) Resources(ctx context.Context, stack string) ([]Resource, error) {
	var all []Resource
	pages := cloudformation.NewListStackResourcesPaginator(d.Client, &cloudformation.ListStackResourcesInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if missing(err) {
			return nil, fmt.Errorf("list the resources of stack %s: %w", stack, ErrNoStack)
		}
		if err != nil {
			return nil, fmt.Errorf("list the resources of stack %s: %w", stack, cause(err))
		}
		for _, r := range page.StackResourceSummaries {
			if r.ResourceStatus == types.ResourceStatusDeleteComplete {
				continue
			}
			all = append(all, Resource{
				Name: aws.ToString(r.LogicalResourceId), Type: aws.ToString(r.ResourceType), ID: aws.ToString(r.PhysicalResourceId), Status: string(r.ResourceStatus),
			})
		}
	}
	return all, nil
}

// Template is the template of a stack as it was last executed.
func (d *Driver) Template(ctx context.Context, stack string) ([]byte, error) {
	out, err := d.Client.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &stack, TemplateStage: types.TemplateStageOriginal})
	if missing(err) {
		return nil, fmt.Errorf("read the template of stack %s: %w", stack, ErrNoStack)
	}
	if err != nil {
		return nil, fmt.Errorf("read the template of stack %s: %w", stack, cause(err))
	}
	return []byte(aws.ToString(out.TemplateBody)), nil
}

// template is what Without and Kept look at.
type template struct {
	Resources map[string]json.RawMessage `json:"Resources"`
	Outputs   map[string]json.RawMessage `json:"Outputs"`
}

// Kept are the resources of a template that outlive their stack.
func Kept(text []byte) (map[string]bool, error) {
	var t struct {
		Resources map[string]struct{ DeletionPolicy string }
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("read a template: %w", err)
	}
	kept := map[string]bool{}
	for name, r := range t.Resources {
		kept[name] = r.DeletionPolicy == "Retain" || r.DeletionPolicy == "RetainExceptOnCreate"
	}
	return kept, nil
}

// Without is a template without some resources, nor what refers to them.
func Without(text []byte, names []string) ([]byte, error) {
	var whole map[string]json.RawMessage
	var t template
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("read a template: %w", err)
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("read a template: %w", err)
	}
	gone := slices.Clone(names)
	for before := -1; before != len(gone); {
		before = len(gone)
		for name, r := range t.Resources {
			if slices.Contains(gone, name) || refers(r, gone) {
				delete(t.Resources, name)
				if !slices.Contains(gone, name) {
					gone = append(gone, name)
				}
			}
		}
	}
	for name, o := range t.Outputs {
		if refers(o, gone) {
			delete(t.Outputs, name)
		}
	}
	for key, part := range map[string]map[string]json.RawMessage{"Resources": t.Resources, "Outputs": t.Outputs} {
		raw, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("write a template: %w", err)
		}
		whole[key] = raw
	}
	return json.MarshalIndent(whole, "", " ")
}

// refers reports whether a part of a template names one of some resources.
func refers(part json.RawMessage, names []string) bool {
	var value any
	if json.Unmarshal(part, &value) != nil {
		return false
	}
	return slices.ContainsFunc(references(value), func(name string) bool { return slices.Contains(names, name) })
}

// references are the names behind Ref, Fn::GetAtt, Fn::Sub and DependsOn.
func references(value any) []string {
	var all []string
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			all = append(all, references(x)...)
		}
	case map[string]any:
		for key, x := range v {
			switch key {
			case "Ref", "DependsOn":
				all = append(all, texts(x)...)
			case "Fn::GetAtt":
				if list := texts(x); len(list) > 0 {
					all = append(all, list[0])
				}
			case "Fn::Sub":
				all = append(all, substituted(x)...)
			}
			all = append(all, references(x)...)
		}
	}
	return all
}

// texts are a text, or those of a list.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, x := range v {
			all = append(all, texts(x)...)
		}
		return all
	}
	return nil
}

// variable finds a name in the text of an Fn::Sub.
var variable = pattern.New(`\$\{([A-Za-z0-9]+)[^}]*\}`)

// substituted are the names in the text of an Fn::Sub.
func substituted(value any) []string {
	var all []string
	for _, text := range texts(value) {
		for _, m := range variable().FindAllStringSubmatch(text, -1) {
			all = append(all, strings.TrimSpace(m[1]))
		}
	}
	return all
}
