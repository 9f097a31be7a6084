package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// Fabric is how many EFA devices are right on a node, or on each of some: by its instance type, else as many as it has.
type Fabric struct {
	Devices int
	// Source is where the number is from, None why there are none, and Blind why nobody knows.
	Source, None, Blind string
}

// FabricOf is what is right on a machine. Where nobody says what it should have, its own devices count.
func FabricOf(f verify.Facts, n expect.Node) Fabric {
	of := n.Of(verify.EFA)
	i := slices.IndexFunc(of, func(e expect.Expectation) bool { return e.Check == "efa-devices" })
	if i < 0 {
		return Fabric{Blind: "nothing is expected of EFA here"}
	}
	e := of[i]
	devices, blind := f.EFA.Devices.See()
	switch {
	case e.Skip != "":
		return Fabric{None: e.Skip}
	case e.Must.Least != nil:
		return Fabric{Devices: int(*e.Must.Least), Source: e.Source}
	case blind != "":
		return Fabric{Blind: "nobody says whether there is EFA, and the devices could not be seen: " + blind}
	case len(devices) == 0:
		return Fabric{None: "these machines have no EFA device, and nobody says that they should"}
	}
	return Fabric{Devices: len(devices), Source: e.Source}
}

// Fewest is what all of some nodes have: NCCL goes over EFA only if each of them has some.
func Fewest(all []Fabric) Fabric {
	least := Fabric{Blind: "nobody looked at the nodes"}
	for i, one := range all {
		switch {
		case one.None != "":
			return one
		case i == 0, one.Blind != "", least.Blind == "" && one.Devices < least.Devices:
			least = one
		}
	}
	return least
}

// TransportSeen is what NCCL says of its network on nodes.
type TransportSeen struct {
	On string
	meter.NCCL
	EFA Fabric
}

const transportSource = "NCCL's own lines (NCCL_DEBUG=INFO)"

// Transport judges what NCCL says of its network: on nodes with EFA it has to be libfabric, by EFA's own provider, with all devices.
func Transport(s TransportSeen) []verify.Result {
	r := verify.Result{Check: "nccl-network", On: s.On, Verdict: verify.Pass, Found: s.found(), Source: transportSource}
	switch {
	case s.EFA.None != "":
		r.Verdict, r.Why = verify.Skip, s.EFA.None
		return []verify.Result{r}
	case s.EFA.Blind != "":
		r.Verdict, r.Why = verify.Blind, s.EFA.Blind
		return []verify.Result{r}
	}
	r.Want, r.Required = "libfabric, with the provider efa", true
	switch wrong := s.wrong(); {
	case wrong != "":
		r.Verdict, r.Why = verify.Fail, "NCCL goes over "+wrong+", though there is EFA"
		r.Hint = "see the suite efa: aws-ofi-nccl in the image, /dev/infiniband, the library path"
	case len(s.Networks)+len(s.Selected) == 0:
		r.Verdict, r.Why = verify.Blind, cmp.Or(strings.Join(s.Problems, "; "), "NCCL told nothing of its network")
	case len(s.Networks) == 0:
		r.Verdict, r.Why = verify.Blind, "NCCL did not tell which network it uses"
	case len(s.Selected) == 0:
		r.Verdict, r.Why = verify.Blind, "libfabric's provider was not told"
	}
	return []verify.Result{r, s.nics()}
}

// UsesEFA says that NCCL told of EFA's provider, and of nothing else.
func (s TransportSeen) UsesEFA() bool { return len(s.Selected) > 0 && s.wrong() == "" }

func (s TransportSeen) found() string {
	var names []string
	for _, n := range s.Networks {
		names = append(names, n.Name)
	}
	for _, p := range s.Selected {
		if name := "provider " + p.Provider; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// overLibfabric tells names of the OFI plugin's: "Libfabric", "AWS Libfabric", and of a channel "NET/AWS", which is the first word of it.
func overLibfabric(name string) bool {
	return strings.Contains(name, "Libfabric") || strings.Contains(name, "OFI") || name == "AWS"
}

// wrong is what NCCL uses besides EFA: a network that is not libfabric's, or another provider of libfabric. Layers over EFA's, such as
// "efa;ofi_rxd", are others, too.
func (s TransportSeen) wrong() string {
	for _, n := range s.Networks {
		if !overLibfabric(n.Name) {
			return "the network " + n.Name
		}
	}
	for _, t := range s.Transports {
		kind, network, _ := strings.Cut(t.Name, "/")
		if network, _, _ = strings.Cut(network, "/"); kind == "NET" && !overLibfabric(network) {
			return "the network " + network
		}
	}
	for _, p := range s.Selected {
		if p.Provider != "efa" {
			return "libfabric's provider " + p.Provider
		}
	}
	return ""
}

// nics judges how many devices the plugin found: the fewest that any rank did.
func (s TransportSeen) nics() verify.Result {
	r := verify.Result{Check: "nccl-nics", On: s.On, Verdict: verify.Blind, Want: count.Of(s.EFA.Devices, "EFA device"), Source: s.EFA.Source, Required: true,
		Why: "the plugin did not tell how many devices it found"}
	fewest := 0
	for _, p := range s.Selected {
		if p.Provider == "efa" && p.NICs > 0 && (fewest == 0 || p.NICs < fewest) {
			fewest = p.NICs
		}
	}
	if fewest == 0 {
		return r
	}
	r.Verdict, r.Why, r.Found = verify.Pass, "", count.Of(fewest, "EFA device")
	if fewest < s.EFA.Devices {
		r.Verdict, r.Hint = verify.Fail, "see `fi_info -p efa` and the security group's rule for itself; replace the node"
		r.Why = fmt.Sprintf("%.0f %% of the network is missing", 100-100*float64(fewest)/float64(s.EFA.Devices))
	}
	return r
}

// CountersSeen is what EFA's counters of a node said before and after NCCL's collectives.
type CountersSeen struct {
	Node          string
	Before, After verify.Look[map[string]int64]
	// Nodes is how many took part, Used that NCCL said it used EFA.
	Nodes int
	Used  Used
	EFA   Fabric
}

// Used says that NCCL told of EFA as its network.
type Used bool

// Counters judges that bytes went through a node's EFA devices. The driver counts them in files that end with _bytes; others, such as
// keep_alive_rcvd, rise by themselves: https://github.com/torvalds/linux/blob/master/drivers/infiniband/hw/efa/efa_verbs.c
func Counters(s CountersSeen) verify.Result {
	r := verify.Result{Check: "efa-counters", On: s.Node, Verdict: verify.Pass, Want: "they rise while NCCL measures", Source: "/sys/class/infiniband/*/ports/*/hw_counters of EFA's driver"}
	skip := ""
	switch {
	case s.EFA.None != "":
		skip = s.EFA.None
	case s.Nodes < 2:
		skip = "one node: nothing goes over the network"
	case !bool(s.Used) && s.EFA.Blind == "":
		skip = "NCCL did not say that it uses EFA: nccl-network says more"
	}
	before, dark := s.Before.See()
	after, darker := s.After.See()
	name, rose := risen(before, after)
	switch blind := cmp.Or(s.EFA.Blind, dark, darker); {
	case skip != "":
		r.Verdict, r.Why = verify.Skip, skip
	case blind != "":
		r.Verdict, r.Why, r.Required = verify.Blind, blind, s.EFA.Blind == ""
	case rose == 0:
		r.Verdict, r.Found, r.Required = verify.Fail, "none rose", true
		r.Why, r.Hint = "NCCL said that it uses EFA, and no byte went through this node's devices", "see the suite efa, and NCCL's lines with NCCL_DEBUG=INFO"
	default:
		r.Found, r.Required = fmt.Sprintf("%s rose by %s", name, count.Bytes(rose)), true
	}
	return r
}

// risen is the counter of bytes that rose most, and by how much.
func risen(before, after map[string]int64) (name string, by int64) {
	for n, value := range after {
		if d := value - before[n]; strings.HasSuffix(n, "_bytes") && (d > by || d == by && d > 0 && n < name) {
			name, by = n, d
		}
	}
	return name, by
}
