package spec

import "strings"

// choice are keys of a map of which a file may have one.
type choice struct {
	// of is the map's name.
	of   string
	keys []string
	// needed says that one of them must be there.
	needed bool
	// empty says that a key without a value counts, too.
	empty bool
}

// choices are those that ParallelCluster's schema makes.
var choices = []choice{
	{of: "Networking", keys: []string{"SecurityGroups", "AdditionalSecurityGroups"}},
	{of: "Iam", keys: []string{"InstanceRole", "InstanceProfile", "AdditionalIamPolicies"}},
	{of: "Iam", keys: []string{"InstanceRole", "S3Access"}},
	{of: "Iam", keys: []string{"InstanceProfile", "S3Access"}},
	{of: "ComputeResources", keys: []string{"InstanceType", "Instances"}},
	{of: "CapacityReservationTarget", keys: []string{"CapacityReservationId", "CapacityReservationResourceGroupArn"}, needed: true},
	{of: "OnNodeStart", keys: []string{"Script", "Sequence"}, needed: true, empty: true},
	{of: "OnNodeConfigured", keys: []string{"Script", "Sequence"}, needed: true, empty: true},
	{of: "OnNodeUpdated", keys: []string{"Script", "Sequence"}, needed: true, empty: true},
	{of: "SlurmSettings", keys: []string{"CustomSlurmSettings", "CustomSlurmSettingsIncludeFile"}},
	{of: "SlurmSettings", keys: []string{"Database", "ExternalSlurmdbd"}},
}

// exclude reports keys of a map that exclude each other.
func (c *checker) exclude(n *node, f *field, path string) {
	for _, ch := range choices {
		if ch.of != f.name {
			continue
		}
		var have []*entry
		there := false
		for _, key := range ch.keys {
			e := n.entry(key)
			there = there || e != nil && !e.value.blank()
			if e != nil && (ch.empty || !e.value.empty()) {
				have = append(have, e)
			}
		}
		if len(have) > 1 {
			second := have[1]
			c.errorAt(c.at(second.line, second.column), "schema/exclusive", join(path, second.key),
				"%s and %s exclude each other", have[0].key, second.key).WithHint("remove one of them")
		}
		if ch.needed && !there {
			c.errorAt(c.locate(path), "schema/required", path, "%s needs %s", f.title(), strings.Join(ch.keys, " or ")).
				WithHint("add one of them")
		}
	}
}

// blank reports whether a value is a text without a character.
func (n *node) blank() bool { return n.kind == scalar && n.tag == "str" && n.value == "" }

// empty reports whether a value counts as absent where keys exclude each other.
func (n *node) empty() bool {
	return n.null() || n.kind == scalar && n.value == "" || n.kind != scalar && len(n.items)+len(n.entries) == 0
}
