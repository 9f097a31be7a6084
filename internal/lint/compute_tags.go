package lint

import "github.com/muster-hpc/muster/internal/spec"

// maxTags is how many tags of a user's own a node can have; AWS allows 50, and
// ParallelCluster adds its own.
const maxTags = 40

// computeTags finds tags that hide each other (ComputeResourceTagsValidator).
func computeTags(root spec.View, all []resource) {
	var reported seen
	for _, x := range all {
		keys := map[string]string{}
		for _, tags := range []spec.View{root.Key("Tags"), x.queue.Key("Tags"), x.view.Key("Tags")} {
			for _, tag := range tags.Items() {
				key := tag.Key("Key")
				if first, twice := keys[key.Text()]; twice && first != tags.Path() && reported.first(key.Path()) {
					key.Warnf("compute/tag-override", "tag %q is also in %s; the innermost one counts", key.Text(), first).
						WithHint("remove the other one, or this one")
				}
				keys[key.Text()] = tags.Path()
			}
		}
		if len(keys) > maxTags {
			x.view.Errorf("compute/tags", "nodes of compute resource %s have %d tags; %d are allowed", x.view.Key("Name").Text(), len(keys), maxTags).
				WithHint("remove tags of the cluster, the queue or the compute resource")
		}
	}
}
