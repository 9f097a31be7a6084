package templates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// facts are what a world is made of: things by what they are for, such as "launch
// template queue gpu/p5" or "volume work", each with its properties.
type facts map[string]map[string]string

func (f facts) add(thing string, properties map[string]string) {
	if f[thing] == nil {
		f[thing] = map[string]string{}
	}
	maps.Copy(f[thing], properties)
}

// facts reads a world.
func (w world) facts() facts {
	f := facts{}
	used := w.roles()
	for _, m := range w.machines() {
		kind := "launch template "
		if m.instance != "" {
			kind = ""
		}
		f.add(kind+m.role, w.machine(m))
		if rights := w.rights(m); rights != nil {
			f.add("rights of "+m.group(), rights)
		}
		used[m.template], used[m.instance] = true, true
	}
	f.add("traffic", w.traffic())
	times := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(w.resources)) {
		r := w.resources[id]
		if kind := kinds[r.Type]; !used[id] && kind != inside {
			f.add(w.called(id), w.properties(r))
			times[w.called(id)]++
		}
	}
	for thing, n := range times {
		if n > 1 {
			f.add(thing, map[string]string{"how many": fmt.Sprint(n)})
		}
	}
	told := facts{}
	for thing, properties := range f {
		words := map[string]string{}
		for property, value := range properties {
			words[w.refer(property)] = w.words(value)
		}
		told.add(w.refer(thing), words)
	}
	return told
}

// machine is what a machine is started with. The interfaces and tags of the head
// node stand in resources of their own.
func (w world) machine(m machine) map[string]string {
	have := map[string]string{}
	data, _ := at(w.resources[m.template].Properties, "LaunchTemplateData").(map[string]any)
	for key, value := range data {
		switch key {
		case "NetworkInterfaces", "UserData":
		case "IamInstanceProfile": // by its name or by its ARN
			flatten(have, key, cmp.Or(at(value, "Name"), at(value, "Arn")))
		default:
			flatten(have, key, value)
		}
	}
	if name := w.resources[m.template].Properties["LaunchTemplateName"]; name != nil {
		have["LaunchTemplateName"] = fmt.Sprint(name)
	}
	flatten(have, "NetworkInterfaces", w.interfaces(m))
	if m.instance != "" {
		for key, value := range w.resources[m.instance].Properties {
			if key == "Tags" {
				key = "TagSpecifications[instance].Tags"
			}
			if key != "LaunchTemplate" {
				flatten(have, key, value)
			}
		}
	}
	return have
}

// properties are a resource's, with what becomes of it.
func (w world) properties(r resource) map[string]string {
	have := map[string]string{}
	for key, value := range r.Properties {
		if key != "DashboardBody" {
			flatten(have, key, value)
		}
	}
	if r.DeletionPolicy != "" && r.DeletionPolicy != "Delete" {
		have["DeletionPolicy"] = r.DeletionPolicy
	}
	return have
}

// flatten writes a value as properties below a path. Entries of lists are named by
// what tells them apart; lists of plain values are sorted.
func flatten(have map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if !labels[key] {
				flatten(have, path+"."+key, value)
			}
		}
	case []any:
		var plain []string
		for i, entry := range v {
			if _, nested := entry.(map[string]any); nested {
				flattenEntry(have, path, i, entry)
				continue
			}
			plain = append(plain, fmt.Sprint(entry))
		}
		if len(plain) > 0 {
			slices.Sort(plain)
			have[path] = strings.Join(slices.Compact(plain), ", ")
		}
	case nil:
	default:
		have[path] = fmt.Sprint(v)
	}
}

func flattenEntry(have map[string]string, path string, i int, entry any) {
	name, value := at(entry, "Key"), at(entry, "Value")
	if name == nil {
		name = at(entry, "Name")
	}
	if name != nil && value != nil {
		have[path+"."+fmt.Sprint(name)] = fmt.Sprint(value)
		return
	}
	flatten(have, path+"["+label(entry, i)+"]", entry)
}

// labels are keys that the names of a list's entries have already.
var labels = map[string]bool{"DeviceIndex": true, "NetworkCardIndex": true, "ResourceType": true, "LifecycleTransition": true, "VirtualName": true}

// label tells the entry of a list from others.
func label(entry any, i int) string {
	text := func(key, absent string) string {
		if v := at(entry, key); v != nil {
			return fmt.Sprint(v)
		}
		return absent
	}
	switch {
	case at(entry, "DeviceIndex") != nil:
		return "card " + text("NetworkCardIndex", "0") + " device " + text("DeviceIndex", "")
	case at(entry, "VirtualName") != nil:
		return text("VirtualName", "")
	case at(entry, "Ebs") != nil:
		return "root"
	case at(entry, "ResourceType") != nil:
		return text("ResourceType", "")
	case at(entry, "LifecycleTransition") != nil:
		return afterColon(text("LifecycleTransition", ""))
	}
	return fmt.Sprint(i)
}

func afterColon(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }
