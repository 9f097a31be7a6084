package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// regions holds ParallelCluster's RegionValidator and FeatureRegionValidator. A
// file without Region takes the one of the user's environment.
func regions(root spec.View, level spec.Level) {
	region := root.Key("Region")
	if !filled(region) {
		return
	}
	name := region.Text()
	if !slices.Contains(catalog.Regions(), name) {
		d := region.Errorf("region/unsupported", "%s is no region that ParallelCluster supports", quoted(name))
		if near := diag.Nearest(name, catalog.Regions()); near != "" {
			d.WithHint("did you mean %s?", near)
		} else {
			d.WithHint("regions are known as of ParallelCluster %s, for example us-east-1", catalog.RegionsOf)
		}
	}
	for _, s := range root.Key("SharedStorage").Items() {
		kind := s.Key("StorageType")
		if kind.Given() && strings.HasPrefix(name, unsupportedIn(spec.KindOf(s), level)) {
			kind.Errorf("region/feature", "there is no %s in %s", kind.Text(), name).
				WithHint("use another type of storage, or another region")
		}
	}
}

// unsupportedIn is how the names of regions begin that lack a type of storage.
func unsupportedIn(kind spec.StorageKind, level spec.Level) string {
	switch kind {
	case spec.FileCache, spec.OpenZFS:
		return "us-iso"
	case spec.ONTAP:
		if level <= 12 {
			return "us-iso"
		}
		return "us-iso-w"
	case spec.Lustre:
		if level <= 12 {
			return "us-isob"
		}
		return "nowhere"
	default:
		return "nowhere"
	}
}
