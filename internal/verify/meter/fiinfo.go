package meter

import (
	"slices"
	"strings"
)

// FiInfo is what libfabric's fi_info prints: what programs can reach a network by.
type FiInfo struct {
	Endpoints []Endpoint `json:"endpoints"`
	Reading
}

// Endpoint is one way into a network. One device has several: reliable datagrams and others, and with libfabric 2 those of the fabric
// efa-direct besides efa.
type Endpoint struct {
	// Process is the rank that mpirun or srun wrote before the lines, empty if none.
	Process  string `json:"process,omitempty"`
	Provider string `json:"provider"` // such as "efa", or "efa;ofi_rxd" for a layer over it
	Fabric   string `json:"fabric"`
	Domain   string `json:"domain"`
	Version  string `json:"version"`
	Type     string `json:"type"`
	Protocol string `json:"protocol"`
}

// Device is the network device of an endpoint, such as "rdmap47s0" for the domain "rdmap47s0-rdm".
func (e Endpoint) Device() string {
	return strings.TrimSuffix(strings.TrimSuffix(e.Domain, "-rdm"), "-dgrm")
}

// EFA are the EFA devices that a process can use for reliable messages, without repetitions: it counts devices, not endpoints.
func (f FiInfo) EFA(process string) []string {
	var devices []string
	seen := map[string]bool{}
	for _, e := range f.Endpoints {
		if e.Process == process && e.Provider == "efa" && e.Type == "FI_EP_RDM" && e.Protocol == "FI_PROTO_EFA" && !seen[e.Device()] {
			seen[e.Device()] = true
			devices = append(devices, e.Device())
		}
	}
	return devices
}

// Processes are those whose lines the output has, the first one first.
func (f FiInfo) Processes() []string {
	var all []string
	seen := map[string]bool{}
	for _, e := range f.Endpoints {
		if !seen[e.Process] {
			seen[e.Process] = true
			all = append(all, e.Process)
		}
	}
	return all
}

// Direct says whether an endpoint is one of the fabric efa-direct, which libfabric 2 has.
func (f FiInfo) Direct() bool {
	return slices.ContainsFunc(f.Endpoints, func(e Endpoint) bool { return e.Fabric == "efa-direct" })
}

// ReadFiInfo reads what fi_info of libfabric 1 and 2 prints.
func ReadFiInfo(text []byte) FiInfo {
	f := FiInfo{Reading: Reading{Whole: true}}
	last := map[string]int{} // by process
	for _, l := range lines(text, &f.Reading) {
		text := strings.TrimSpace(l.text)
		name, value, ok := strings.Cut(text, ": ")
		switch {
		case strings.HasPrefix(text, "fi_getinfo:") || strings.Contains(text, "command not found"):
			f.lack("%s", text)
		case !ok:
		case name == "provider":
			last[l.process] = len(f.Endpoints)
			f.Endpoints = keep(f.Endpoints, Endpoint{Process: l.process, Provider: clip(value)})
		default:
			if i, begun := last[l.process]; begun && i < len(f.Endpoints) {
				f.Endpoints[i].set(name, clip(value))
			}
		}
	}
	for _, e := range f.Endpoints {
		if e.Protocol == "" || e.Type == "" || e.Domain == "" {
			f.lack("the endpoint %q of the provider %q is cut off", e.Domain, e.Provider)
		}
	}
	if len(f.Endpoints) == 0 {
		f.lack("there are no endpoints")
	}
	return f
}

func (e *Endpoint) set(name, value string) {
	switch name {
	case "fabric":
		e.Fabric = value
	case "domain":
		e.Domain = value
	case "version":
		e.Version = value
	case "type":
		e.Type = value
	case "protocol":
		e.Protocol = value
	}
}
