package ec2

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// changeTags is CreateTags and DeleteTags. Resources of moto's go to moto.
func (e *EC2) changeTags(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	var mine, others []string
	e.mu.Lock()
	for _, id := range p.texts("ResourceId") {
		if e.ours(id) {
			mine = append(mine, id)
		} else {
			others = append(others, id)
		}
	}
	e.mu.Unlock()
	if len(others) > 0 {
		form := maps.Clone(c.Form)
		maps.DeleteFunc(form, func(name string, _ []string) bool { return strings.HasPrefix(name, "ResourceId.") })
		for i, id := range others {
			form.Set("ResourceId."+itoa(i+1), id)
		}
		answer, err := e.moto(ctx, wire.NewCall("ec2", c.Region, form))
		if err != nil || answer.Status >= 400 || len(mine) == 0 {
			return answer, err
		}
	}
	return e.changeOwnTags(c, p, mine)
}

func (e *EC2) changeOwnTags(c *wire.Call, p params, ids []string) (*wire.Answer, *wire.Error) {
	tags := readTags(p)
	if err := properTags(tags); err != nil && c.Action == "CreateTags" {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if i := e.instances[id]; strings.HasPrefix(id, "i-") && (i == nil || !e.exists(i)) {
			return nil, notFound([]string{id})
		}
		if have := e.tagsOf(id); c.Action == "CreateTags" && len(have)+len(tags) > 50 {
			return nil, wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
		}
	}
	if p.yes("DryRun") {
		return nil, dryRun()
	}
	for _, id := range ids {
		e.retag(id, func(have map[string]string) {
			if c.Action == "CreateTags" {
				maps.Copy(have, tags)
				return
			}
			removeTags(have, p)
		})
	}
	return done(c), nil
}

// removeTags removes those that a call names: with a value only if they have it, all
// where it names none.
func removeTags(have map[string]string, p params) {
	named := p.list("Tag")
	if named == nil {
		clear(have)
	}
	for _, t := range named {
		if key := t.text("Key"); !t.has("Value") || have[key] == t.text("Value") {
			delete(have, key)
		}
	}
}

// properTags refuses what no tag may be:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions
func properTags(tags map[string]string) *wire.Error {
	for key, value := range tags {
		switch {
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return wire.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case key == "" || len([]rune(key)) > 128:
			return wire.Errorf("InvalidParameterValue", "Tag key exceeds the maximum length of 128 characters")
		case len([]rune(value)) > 256:
			return wire.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters")
		}
	}
	return nil
}

// exists tells whether an instance is still known. mu is held.
func (e *EC2) exists(i *instance) bool {
	_, ok := i.at(e.now())
	return ok
}

// tagsOf are a resource's tags. mu is held.
func (e *EC2) tagsOf(id string) map[string]string {
	if i := e.instances[id]; i != nil {
		return i.tagLine[len(i.tagLine)-1].tags
	}
	return e.tags[id]
}

// retag changes a resource's tags. mu is held.
func (e *EC2) retag(id string, change func(map[string]string)) {
	if i := e.instances[id]; i != nil {
		i.retag(e.now(), change)
		return
	}
	if e.tags[id] == nil {
		e.tags[id] = map[string]string{}
	}
	change(e.tags[id])
}

// Tagged are all resources of the EC2 that live and have tags.
func (e *EC2) Tagged() []wire.Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []wire.Resource
	for id, tags := range e.allTags(e.now()) {
		if len(tags) > 0 {
			name := id
			if g := e.group(id); g != nil {
				name = g.name // the ARN of a placement group has its name
			}
			arn := "arn:aws:ec2:" + e.opts.Region + ":" + e.opts.Account + ":" + resourceType(id) + "/" + name
			all = append(all, wire.Resource{ARN: arn, Tags: maps.Clone(tags)})
		}
	}
	slices.SortFunc(all, func(a, b wire.Resource) int { return strings.Compare(a.ARN, b.ARN) })
	return all
}

// allTags are the tags of all that is to be seen at a time. mu is held.
func (e *EC2) allTags(at time.Time) map[string]map[string]string {
	all := map[string]map[string]string{}
	for id, tags := range e.tags {
		all[id] = tags
	}
	for _, i := range e.order {
		m, ok := i.at(at)
		if ok {
			all[i.ID] = i.tagsAt(m.at)
		}
	}
	return all
}

func resourceType(id string) string {
	kind, _, _ := strings.Cut(id, "-")
	switch kind {
	case "i":
		return "instance"
	case "eni":
		return "network-interface"
	case "vol":
		return "volume"
	case "cr":
		return "capacity-reservation"
	case "pg":
		return "placement-group"
	}
	return "launch-template"
}

// describeTags is DescribeTags.
func (e *EC2) describeTags(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	filters := p.filters()
	for _, f := range filters {
		if _, ok := strings.CutPrefix(f.name, "tag:"); !ok && !slices.Contains([]string{"key", "value", "resource-id", "resource-type", "tag-key"}, f.name) {
			return nil, unknownFilter(f.name)
		}
	}
	return e.merge(ctx, c, "tagSet", func(*node) {}, func(w *writer) {
		all := e.allTags(e.seen())
		for _, id := range slices.Sorted(maps.Keys(all)) {
			for _, key := range slices.Sorted(maps.Keys(all[id])) {
				if tagFits(filters, id, key, all[id][key]) {
					w.open("item").text("resourceId", id).text("resourceType", resourceType(id)).text("key", key)
					w.text("value", all[id][key]).close("item")
				}
			}
		}
	})
}

func tagFits(filters []filter, id, key, value string) bool {
	for _, f := range filters {
		fits := false
		switch f.name {
		case "key", "tag-key":
			fits = f.fits(key)
		case "value":
			fits = f.fits(value)
		case "resource-id":
			fits = f.fits(id)
		case "resource-type":
			fits = f.fits(resourceType(id))
		default:
			fits = f.name == "tag:"+key && f.fits(value)
		}
		if !fits {
			return false
		}
	}
	return true
}

// without is a form without some of a list's values.
func without(form url.Values, list string, drop func(string) bool) (rest url.Values, left int) {
	rest = url.Values{}
	p := read(form)
	for name, values := range form {
		if !strings.HasPrefix(name, list+".") {
			rest[name] = values
		}
	}
	for _, v := range p.texts(list) {
		if !drop(v) {
			left++
			rest.Set(list+"."+itoa(left), v)
		}
	}
	return rest, left
}
