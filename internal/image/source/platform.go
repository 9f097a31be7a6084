package source

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Platform is a kind of machine that an image is for.
type Platform struct{ OS, Arch, Variant string }

// String is as Docker writes it: linux/arm/v7.
func (p Platform) String() string {
	s := cmp.Or(p.OS, "linux") + "/" + cmp.Or(p.Arch, "unknown")
	if p.Variant != "" {
		s += "/" + p.Variant
	}
	return s
}

// ParsePlatform reads a platform as Docker, Go, Debian or uname write it. Empty
// is this machine's.
func ParsePlatform(text string) (Platform, error) {
	if text == "" {
		return Platform{OS: "linux", Arch: runtime.GOARCH}, nil
	}
	parts := strings.Split(strings.ToLower(text), "/")
	if parts[0] == "linux" && len(parts) > 1 {
		parts = parts[1:]
	}
	p := Platform{OS: "linux", Arch: parts[0]}
	if len(parts) == 2 {
		p.Variant = parts[1]
	}
	switch p.Arch {
	case "x86_64", "x86-64", "x64":
		p.Arch = "amd64"
	case "aarch64":
		p.Arch = "arm64"
	case "armhf", "armv7l":
		p.Arch, p.Variant = "arm", "v7"
	case "i386", "i686":
		p.Arch = "386"
	case "ppc64el":
		p.Arch = "ppc64le"
	}
	known := []string{"amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64", "loong64", "mips64le"}
	if len(parts) > 2 || !slices.Contains(known, p.Arch) {
		return Platform{}, fmt.Errorf("no architecture %q; there are %s", text, strings.Join(known, ", "))
	}
	return p, nil
}

// rank is how well a platform that is offered suits one that is wanted: 0 not at
// all, the higher the better.
func rank(want, have Platform) int {
	switch {
	case have.OS != "" && have.OS != want.OS || have.Arch != want.Arch:
		return 0
	case want.Variant == have.Variant:
		return 9
	case want.Variant != "":
		return 0
	}
	// Without a wish, the variant that every machine of the kind can run, or the
	// usual one.
	usual := map[string][]string{"amd64": {"v1"}, "arm64": {"v8"}, "arm": {"v7", "v6", "v5"}}
	if i := slices.Index(usual[have.Arch], have.Variant); i >= 0 {
		return 8 - i
	}
	return 1
}

func platformOf(p *v1.Platform) Platform {
	if p == nil {
		return Platform{}
	}
	return Platform{OS: p.OS, Arch: p.Architecture, Variant: p.Variant}
}

// attestation tells descriptors of an index that are about images from images.
func attestation(d v1.Descriptor) bool {
	return d.Annotations["vnd.docker.reference.type"] != "" ||
		d.ArtifactType != "" && !types.MediaType(d.ArtifactType).IsConfig() ||
		d.Platform != nil && d.Platform.OS == "unknown" && d.Platform.Architecture == "unknown"
}

// choose picks the image for a platform from those of an index.
func choose(want Platform, all []v1.Descriptor) (v1.Descriptor, error) {
	var best v1.Descriptor
	high := 0
	var have []string
	for _, d := range all {
		if attestation(d) {
			continue
		}
		if d.Platform == nil && len(all) == 1 {
			return d, nil
		}
		p := platformOf(d.Platform)
		if s := p.String(); !slices.Contains(have, s) {
			have = append(have, s)
		}
		if r := rank(want, p); r > high {
			best, high = d, r
		}
	}
	if high > 0 {
		return best, nil
	}
	if len(have) == 0 {
		return best, errors.New("its index has no image")
	}
	return best, otherPlatform(want, have)
}

func otherPlatform(want Platform, have []string) error {
	return fmt.Errorf("there is none for %s; there is %s; choose with --arch", want, strings.Join(have, ", "))
}
