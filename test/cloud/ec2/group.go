package ec2

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// group is a placement group.
type group struct{ id, name, strategy string }

func (e *EC2) createGroup(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	tags := tagsFor(p, "placement-group")
	if err := properTags(tags); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := p.text("GroupName")
	if name == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter GroupName")
	}
	if e.group(name) != nil {
		return nil, wire.Errorf("InvalidPlacementGroup.Duplicate", "The placement group '%s' already exists.", name)
	}
	strategy := p.text("Strategy")
	if strategy == "" {
		strategy = "cluster"
	}
	g := &group{id: e.id("pg"), name: name, strategy: strategy}
	e.groups = append(e.groups, g)
	e.tags[g.id] = tags
	var w writer
	w.open("placementGroup")
	e.writeGroup(&w, g)
	return w.close("placementGroup").answer(c), nil
}

// tagsFor are the tags of a call for a type of resource.
func tagsFor(p params, kind string) map[string]string {
	tags := map[string]string{}
	for _, t := range p.list("TagSpecification") {
		if t.text("ResourceType") == kind {
			maps.Copy(tags, readTags(t))
		}
	}
	for _, t := range p.list("TagSpecifications") {
		if t.text("ResourceType") == kind {
			maps.Copy(tags, readTags(t))
		}
	}
	return tags
}

func (e *EC2) group(name string) *group {
	for _, g := range e.groups {
		if g.name == name || g.id == name || strings.HasSuffix(name, ":placement-group/"+g.name) {
			return g
		}
	}
	return nil
}

// groupThere refuses a launch into a group that is not there. mu is held.
func (e *EC2) groupThere(name string) *wire.Error {
	if name == "" || e.opts.Moto == nil || e.group(name) != nil {
		return nil
	}
	return wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
}

func (e *EC2) writeGroup(w *writer, g *group) {
	arn := "arn:aws:ec2:" + e.opts.Region + ":" + e.opts.Account + ":placement-group/" + g.name
	w.text("groupName", g.name).text("state", "available").text("strategy", g.strategy).text("groupId", g.id).text("groupArn", arn).tags(e.tags[g.id])
}

func (e *EC2) describeGroups(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wanted := append(p.texts("GroupName"), p.texts("GroupId")...)
	for _, name := range wanted {
		if e.group(name) == nil {
			return nil, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
		}
	}
	var w writer
	w.open("placementGroupSet")
	for _, g := range e.groups {
		if wanted != nil && !slices.Contains(wanted, g.name) && !slices.Contains(wanted, g.id) {
			continue
		}
		ok, err := resourceFits(p.filters(), e.tags[g.id], map[string]string{"group-name": g.name, "strategy": g.strategy, "state": "available"})
		if err != nil {
			return nil, err
		}
		if ok {
			w.open("item")
			e.writeGroup(&w, g)
			w.close("item")
		}
	}
	return w.close("placementGroupSet").answer(c), nil
}

// resourceFits tells whether filters fit a resource with these tags and values.
func resourceFits(filters []filter, tags, values map[string]string) (bool, *wire.Error) {
	for _, f := range filters {
		text, known := values[f.name]
		switch key, isTag := strings.CutPrefix(f.name, "tag:"); {
		case isTag:
			if text, known = tags[key]; !known {
				return false, nil
			}
		case f.name == "tag-key":
			if !slices.ContainsFunc(slices.Collect(maps.Keys(tags)), f.fits) {
				return false, nil
			}
			continue
		case !known:
			return false, unknownFilter(f.name)
		}
		if !f.fits(text) {
			return false, nil
		}
	}
	return true, nil
}

func (e *EC2) deleteGroup(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := e.group(p.text("GroupName"))
	if g == nil {
		return nil, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", p.text("GroupName"))
	}
	for _, i := range e.order {
		if m, _ := i.at(e.now()); m.state != terminated && i.Placement != "" && e.group(i.Placement) == g {
			return nil, wire.Errorf("InvalidPlacementGroup.InUse", "The placement group '%s' is in use and may not be deleted.", g.name)
		}
	}
	e.groups = slices.DeleteFunc(e.groups, func(x *group) bool { return x == g })
	delete(e.tags, g.id)
	return done(c), nil
}
