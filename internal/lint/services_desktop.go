package lint

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// desktops has the rules about desktops by DCV on the head node and login nodes.
func desktops(root spec.View, level spec.Level) {
	machines := append([]spec.View{root.Key("HeadNode")}, root.At("LoginNodes.Pools").Items()...)
	for _, m := range machines {
		on := m.At("Dcv.Enabled")
		if !on.Given() || !on.Bool() {
			continue
		}
		desktop(m.Key("Dcv"), m.Key("InstanceType"))
		desktopSystem(on, m.Key("InstanceType"), root.At("Image.Os"), level)
		if region := root.Key("Region"); level <= 12 && filled(region) && strings.HasPrefix(region.Text(), "us-iso") {
			on.Errorf("region/feature", "there is no DCV in %s", region.Text()).
				WithHint("write Enabled: false, or take another region")
		}
	}
}

// desktop holds what ParallelCluster's DcvValidator says of machines.
func desktop(dcv, kind spec.View) {
	if ips := dcv.Key("AllowedIps"); ips.Sound() && ips.Text() == "0.0.0.0/0" {
		ips.Warnf("dcv/open", "DCV's port %d is open to every address", dcv.Key("Port").Int()).
			WithHint("write AllowedIps: YOUR.ADDRESS/32")
	}
	if !kind.Given() {
		return
	}
	if strings.Contains(kind.Text(), "micro") || strings.Contains(kind.Text(), "nano") {
		kind.Warnf("dcv/memory", "%s has too little memory for a desktop by DCV", kind.Text()).
			WithHint("take a type with 2 GiB or more")
	}
	if in, ok := catalog.Lookup(kind.Text()); ok && in.GPU.Name == "" {
		kind.Infof("dcv/gpu", "%s has no GPU, and a desktop by DCV is slow without one", in.Type).
			WithHint("take a type with a GPU, for example g6.xlarge")
	}
}

// desktopSystem holds what DcvValidator says of operating systems: some had no
// DCV before level 3.14.
func desktopSystem(on, kind, system spec.View, level spec.Level) {
	in, ok := catalog.Lookup(kind.Text())
	if !system.Given() || !ok || !slices.Contains(withoutDesktop(level, in.Arch), system.Text()) {
		return
	}
	on.Errorf("dcv/os", "there is no DCV for %s on %s before ParallelCluster 3.14", system.Text(), processor(in.Arch)).
		WithHint("write Enabled: false, or take another operating system")
}

func withoutDesktop(level spec.Level, arch string) []string {
	switch {
	case level >= 14:
		return nil
	case arch != "arm64":
		return []string{"alinux2023"}
	case level == 11:
		return []string{"alinux2023", "ubuntu2004", "ubuntu2204"}
	default:
		return []string{"alinux2023", "ubuntu2004"}
	}
}
