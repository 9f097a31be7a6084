package lint

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

// hole is a known vulnerability of ParallelCluster's images.
type hole struct {
	// name is its CVE, what says what an attacker can do.
	name, what string
	// mended is the first release whose images do not have it.
	mended release
	source string
}

// holes are those that a user of a cluster can use against it, in all images before the
// release that mended them.
var holes = []hole{
	{"CVE-2026-65107 and seven more", "vulnerabilities of Slurm that became known together", release{16, 1}, "https://github.com/aws/aws-parallelcluster/issues/7601"},
	{"CVE-2026-25506", "every user can read munge's key, and be anybody", release{14, 2}, "https://github.com/aws/aws-parallelcluster/issues/7233"},
	{"CVE-2025-43904", "a coordinator of accounts can make others administrators of Slurm's accounting", release{13, 1}, "https://github.com/aws/aws-parallelcluster/issues/6817"},
}

// release is one of ParallelCluster's, such as 3.16.1.
type release struct {
	level spec.Level
	patch int
}

// releaseOf reads a release; it is false for other texts, and for unknown levels.
func releaseOf(text string) (release, bool) {
	level, err := spec.ParseLevel(text)
	numbers := strings.Split(text, ".")
	if err != nil || len(numbers) != 3 {
		return release{}, false
	}
	patch, err := strconv.Atoi(numbers[2])
	return release{level, patch}, err == nil
}

func (r release) before(other release) bool {
	return cmp.Or(cmp.Compare(r.level, other.level), cmp.Compare(r.patch, other.patch)) < 0
}

func (r release) String() string { return r.level.String() + "." + strconv.Itoa(r.patch) }

// without is the first release whose images have no known hole.
func without() release {
	var last release
	for _, h := range holes {
		if last.before(h.mended) {
			last = h.mended
		}
	}
	return last
}

// oldImages finds holes in the images that machines start from where the file has none of
// its own: the newest of its level, so that only a later level can be without them.
// Images that are published under another account or name may have mended them.
func oldImages(root spec.View, level spec.Level) {
	wanted := official(root, level)
	if len(wanted.Arches) == 0 || wanted.Owner != "" || wanted.Prefix != "" {
		return
	}
	for _, h := range holes {
		if level < h.mended.level {
			root.At("Image.Os").Warnf("image/vulnerable", "ParallelCluster's images of level %s have %s: %s (%s)", level, h.name, h.what, h.source).
				WithHint("write # muster: schema=%s: the first level whose images have none that is known", without().level)
		}
	}
}

// oldOfficial finds holes in the official images that AWS has: those that a later release of
// the file's level mended, which is not there yet.
func (o online) oldOfficial(system spec.View) {
	var told seen
	for _, arch := range official(o.root, o.level).Arches {
		is, ok := releaseOf(o.OfficialImages[arch].Release)
		for _, h := range holes {
			if ok && is.level == h.mended.level && is.before(h.mended) && told.first(h.name) {
				system.Warnf("image/vulnerable", "the newest image of ParallelCluster that %s has is of %s and has %s: %s (%s)", o.Region, is, h.name, h.what, h.source).
					WithHint("wait until %s is there, or make an image of it and write CustomAmi", h.mended)
			}
		}
	}
}

// oldCustom finds holes in an image of the file's own by the release that made it.
func (o online) oldCustom(image spec.View, version string) {
	is, ok := releaseOf(version)
	for _, h := range holes {
		if ok && is.before(h.mended) {
			image.Warnf("image/vulnerable", "image %s was made by ParallelCluster %s, whose images have %s: %s (%s)", image.Text(), is, h.name, h.what, h.source).
				WithHint("make it anew with %s or later, or allow this where the image is mended: # muster: allow image/vulnerable", without())
		}
	}
}
