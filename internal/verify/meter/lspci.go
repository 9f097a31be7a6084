package meter

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// PCI are the devices that lspci lists.
type PCI struct {
	Devices []PCIDevice `json:"devices"`
	Reading
}

// PCIDevice is one of them. The numbers are hexadecimal in lower case.
type PCIDevice struct {
	Slot   string `json:"slot"`   // such as "0000:53:00.0"
	Class  string `json:"class"`  // such as "0302" for a 3D controller
	Vendor string `json:"vendor"` // such as "10de" for NVIDIA, "1d0f" for Amazon
	Device string `json:"device"`
	Name   string `json:"name,omitempty"` // with -nn alone
}

var listed = pattern.New(`^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?:.*?\[([0-9a-f]{4})\]: (.*) \[([0-9a-f]{4}):([0-9a-f]{4})\]|([0-9a-f]{4}): ([0-9a-f]{4}):([0-9a-f]{4}))(?: \(rev [0-9a-f]{2}\))?(?: \(prog-if [^)]*\))?$`)

// ReadPCI reads what `lspci -n` and `lspci -nn` print, with -D or without. An output has no end by which one could tell that it is whole.
func ReadPCI(text []byte) PCI {
	p := PCI{Reading: Reading{Whole: true}}
	for _, l := range lines(text, &p.Reading) {
		if strings.TrimSpace(l.raw) == "" || strings.HasPrefix(l.raw, "\t") {
			continue // what -v says of the device before
		}
		m := listed().FindStringSubmatch(strings.TrimSpace(l.raw))
		if m == nil {
			p.lack("line %d cannot be read: %s", l.number, l.quoted())
			continue
		}
		p.Devices = keep(p.Devices, PCIDevice{Slot: m[1], Class: m[2] + m[6], Vendor: m[4] + m[7], Device: m[5] + m[8], Name: clip(m[3])})
	}
	if len(p.Devices) == 0 {
		p.lack("there are no devices")
	}
	return p
}
