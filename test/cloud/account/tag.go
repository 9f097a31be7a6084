package account

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

type tag struct{ Key, Value string }

type mapping struct {
	ARN  string `json:"ResourceARN"`
	Tags []tag
}

type tagsRequest struct {
	TagFilters []struct {
		Key    string
		Values []string
	}
	ResourceTypeFilters []string
	PaginationToken     string
}

// tagged is GetResources of the Resource Groups Tagging API: moto's resources, and on
// the first page those of the services in front of moto.
func (s *Service) tagged(ctx context.Context, c *wire.Call) (*wire.Answer, *wire.Error) {
	var r tagsRequest
	if err := c.Decode(&r); err != nil {
		return nil, wire.Errorf("InvalidParameterException", "%v", err)
	}
	var page struct {
		PaginationToken        string
		ResourceTagMappingList []mapping
	}
	if s.opts.Moto != nil {
		answer, err := s.opts.Moto(ctx, c)
		if err != nil {
			return nil, internal(err)
		}
		if answer.Status != http.StatusOK {
			return answer, nil
		}
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			return nil, internal(err)
		}
	}
	if r.PaginationToken == "" {
		for _, x := range s.opts.Resources() {
			if r.fits(x) {
				page.ResourceTagMappingList = append(page.ResourceTagMappingList, form(x))
			}
		}
	}
	if page.ResourceTagMappingList == nil {
		page.ResourceTagMappingList = []mapping{}
	}
	return wire.JSON(page), nil
}

func form(x wire.Resource) mapping {
	m := mapping{ARN: x.ARN}
	for k, v := range x.Tags {
		m.Tags = append(m.Tags, tag{k, v})
	}
	slices.SortFunc(m.Tags, func(a, b tag) int { return strings.Compare(a.Key, b.Key) })
	return m
}

// fits tells whether a resource is of a wanted type, as ec2 or ec2:instance, and has
// the wanted tags.
func (r tagsRequest) fits(x wire.Resource) bool {
	parts := strings.SplitN(x.ARN, ":", 6) // arn:aws:SERVICE:region:account:TYPE/id
	kind, _, _ := strings.Cut(parts[5], "/")
	if r.ResourceTypeFilters != nil && !slices.Contains(r.ResourceTypeFilters, parts[2]) && !slices.Contains(r.ResourceTypeFilters, parts[2]+":"+kind) {
		return false
	}
	for _, f := range r.TagFilters {
		if value, ok := x.Tags[f.Key]; !ok || f.Values != nil && !slices.Contains(f.Values, value) {
			return false
		}
	}
	return true
}
