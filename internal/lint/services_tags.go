package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// reservedTags holds what ParallelCluster's schema says of tags. That tags of
// different places belong to one compute resource is a rule about those.
func reservedTags(root spec.View) {
	tagList(root.Key("Tags"))
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		tagList(q.Key("Tags"))
		for _, r := range q.Key("ComputeResources").Items() {
			tagList(r.Key("Tags"))
		}
	}
}

func tagList(tags spec.View) {
	first := map[string]spec.View{}
	for _, tag := range tags.Items() {
		key := tag.Key("Key")
		if !key.Given() {
			continue
		}
		if strings.HasPrefix(key.Text(), "parallelcluster:") && key.Text() != "parallelcluster:custom_resource" {
			key.Errorf("tags/reserved", "tags that begin with parallelcluster: are ParallelCluster's own").
				WithHint("choose another key")
		}
		if before, twice := first[key.Text()]; twice {
			key.Errorf("tags/duplicate", "the tag %s is here twice", quoted(key.Text())).
				WithHint("the first is in line %d; remove one of them", before.Line())
			continue
		}
		first[key.Text()] = key
	}
}
