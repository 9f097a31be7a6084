package boot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// device is a device of the PCI bus, by its numbers: "10de" and "22a3".
type device struct{ Vendor, ID, Class string }

// nvidia is NVIDIA's number on the PCI bus.
const nvidia = "10de"

var (
	// switches are the NVSwitches of A100 and H100 machines, and boards are GPUs whose
	// switches are not on the bus: B200 and B300. More than one of either is a machine
	// whose GPUs do nothing before NVIDIA's fabric manager has brought them together.
	switches = []string{"1af1", "22a3"}
	boards   = []string{"2901", "2909", "3182"}
)

// devices are those of the machine's PCI bus, none where it has no such bus.
func (m Machine) devices() []device {
	dirs, _ := filepath.Glob(m.path("/sys/bus/pci/devices/*")) // the pattern is sound
	var all []device
	for _, dir := range dirs {
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return "" // it was taken out
			}
			return strings.TrimPrefix(strings.TrimSpace(string(text)), "0x")
		}
		all = append(all, device{Vendor: read("vendor"), ID: read("device"), Class: read("class")})
	}
	return all
}

// hardware is what the bus has of NVIDIA's.
type hardware struct {
	GPUs int
	// Fabric says that the GPUs need the fabric manager, and Seen that its switches are
	// on the bus.
	Fabric, Seen bool
}

// displays begin the classes of GPUs: VGA and 3D controllers.
const displays = "03"

// hardwareOf finds NVIDIA's devices.
func hardwareOf(all []device) hardware {
	count := func(ids []string) (n int) {
		for _, d := range all {
			if d.Vendor == nvidia && slices.Contains(ids, d.ID) {
				n++
			}
		}
		return n
	}
	h := hardware{Seen: count(switches) > 1}
	h.Fabric = h.Seen || count(boards) > 1
	for _, d := range all {
		if d.Vendor == nvidia && strings.HasPrefix(d.Class, displays) {
			h.GPUs++
		}
	}
	return h
}
