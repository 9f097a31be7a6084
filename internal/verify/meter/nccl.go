package meter

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// NCCL is what NCCL and its plugin for libfabric say of themselves with NCCL_DEBUG=INFO, between whatever else a program prints.
type NCCL struct {
	// Version is such as "2.26.2+cuda12.2", Driver the CUDA version of the driver as its number, such as 12080 for 12.8.
	Version string `json:"version,omitempty"`
	Driver  int    `json:"driver,omitempty"`
	// Plugin is aws-ofi-nccl's version, Libfabric the one that it uses, Protocol how it moves data: RDMA or SENDRECV. Platform is the
	// instance type that it sees.
	Plugin    string `json:"plugin,omitempty"`
	Libfabric string `json:"libfabric,omitempty"`
	Protocol  string `json:"protocol,omitempty"`
	Platform  string `json:"platform,omitempty"`
	// Ranks is the size of the largest communicator.
	Ranks int `json:"ranks,omitempty"`
	// Selected are the choices of a provider, and Networks the names behind "Using network", without repetitions. "Socket" is TCP.
	Selected []NCCLSelected `json:"selected,omitempty"`
	Networks []NCCLTally    `json:"networks,omitempty"`
	// Transports are how channels connect, such as "NET/Libfabric/GDRDMA", "P2P/CUMEM", "SHM/direct/direct".
	Transports []NCCLTally `json:"transports,omitempty"`
	// Algorithms are the choices for messages, such as "AllReduce NVLS_TREE SIMPLE"; NCCL says them with NCCL_DEBUG_SUBSYS=TUNING.
	Algorithms []NCCLTally `json:"algorithms,omitempty"`
	// Warnings are what NCCL warns of, the first ones.
	Warnings []string `json:"warnings,omitempty"`
	// Lines is how many lines are NCCL's.
	Lines int `json:"lines"`
	// Problems say that there is no line of NCCL; other lines are none of them.
	Reading
}

// NCCLSelected is a provider that the plugin chose. NICs is how many devices it found, 0 in versions that do not say it, as is Fabric empty.
type NCCLSelected struct {
	Provider string `json:"provider"`
	Fabric   string `json:"fabric,omitempty"`
	NICs     int    `json:"nics,omitempty"`
	Count    int    `json:"count"` // lines
}

// NCCLTally is a name and how many lines have it.
type NCCLTally struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// fact is a form of line, and what is done with what it has.
type fact struct {
	form *regexp.Regexp
	take func(n *NCCL, m []string)
}

// facts are the forms of lines that are read.
var facts = sync.OnceValue(func() []fact {
	must := regexp.MustCompile
	return []fact{
		{must(`NCCL version ([0-9]\S*)`), func(n *NCCL, m []string) { n.Version = m[1] }},
		{must(`cudaDriverVersion (\d+)`), func(n *NCCL, m []string) { n.Driver = integer(m[1]) }},
		{must(`NET/OFI Initializing aws-ofi-nccl (\S+)`), func(n *NCCL, m []string) { n.Plugin = m[1] }},
		{must(`NET/OFI Using Libfabric version (\S+)`), func(n *NCCL, m []string) { n.Libfabric = m[1] }},
		{must(`NET/OFI Using transport protocol (\S+)`), func(n *NCCL, m []string) { n.Protocol = m[1] }},
		{must(`NET/OFI Running on (\S+) platform`), func(n *NCCL, m []string) { n.Platform = m[1] }},
		{must(`NET/OFI Selected [Pp]rovider is ([^\s,*]+)\*?(?:, fabric is (\S+))?(?: \(found (\d+) nics\))?`), func(n *NCCL, m []string) { n.selected(m[1], m[2], integer(m[3])) }},
		{must(`Using network (\S.*)`), func(n *NCCL, m []string) { n.Networks = tally(n.Networks, strings.TrimSpace(m[1])) }},
		{must(`Channel \d+/\d+ : .* via (\S+)`), func(n *NCCL, m []string) { n.Transports = tally(n.Transports, transport(m[1])) }},
		{must(`nranks (\d+)`), func(n *NCCL, m []string) { n.Ranks = max(n.Ranks, integer(m[1])) }},
		{must(`(?:(\w+): +)?\d+ Bytes -> Algo (\S+) proto (\S+)`), func(n *NCCL, m []string) {
			n.Algorithms = tally(n.Algorithms, strings.TrimSpace(m[1]+" "+m[2]+" "+m[3]))
		}},
	}
})

// ReadNCCL reads lines of NCCL in an output.
func ReadNCCL(text []byte) NCCL {
	n := NCCL{Reading: Reading{Whole: true}}
	for _, l := range lines(text, &n.Reading) {
		if i := strings.Index(l.text, "NCCL WARN"); i >= 0 {
			n.Lines++
			if message := strings.TrimSpace(l.text[i+len("NCCL WARN"):]); len(n.Warnings) < problemLimit {
				n.Warnings = append(n.Warnings, clip(message))
			}
			continue
		}
		// NCCL_DEBUG=VERSION writes the version without the word INFO.
		if !strings.Contains(l.text, "NCCL INFO") && !strings.HasPrefix(l.text, "NCCL version ") {
			continue
		}
		n.Lines++
		for _, f := range facts() {
			if m := f.form.FindStringSubmatch(l.text); m != nil {
				f.take(&n, clipped(m))
			}
		}
	}
	if n.Lines == 0 {
		n.lack("there is no line of NCCL: NCCL_DEBUG was not INFO, or NCCL did not start")
	}
	return n
}

func clipped(words []string) []string {
	for i := range words {
		words[i] = clip(words[i])
	}
	return words
}

func integer(word string) int {
	n, _ := whole(word)
	return int(n)
}

// transport drops the number of the network device, and which side shares memory with which.
func transport(name string) string {
	parts := strings.Split(name, "/")
	parts = slices.DeleteFunc(parts, func(s string) bool { _, isNumber := whole(s); return isNumber })
	return strings.Join(parts, "/")
}

func tally(all []NCCLTally, name string) []NCCLTally {
	for i := range all {
		if all[i].Name == name {
			all[i].Count++
			return all
		}
	}
	if len(all) >= 256 {
		return all
	}
	return append(all, NCCLTally{Name: name, Count: 1})
}

func (n *NCCL) selected(provider, fabric string, nics int) {
	for i, s := range n.Selected {
		if s.Provider == provider && s.Fabric == fabric && s.NICs == nics {
			n.Selected[i].Count++
			return
		}
	}
	if len(n.Selected) < 256 {
		n.Selected = append(n.Selected, NCCLSelected{Provider: provider, Fabric: fabric, NICs: nics, Count: 1})
	}
}
