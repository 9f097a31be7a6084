package meter

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Topology is what `nvidia-smi topo -m` prints: how GPUs and network devices of a machine reach each other.
type Topology struct {
	// Names are "GPU0" and "NIC0" and so on; old versions write a network device's own name. Paths has how Names[i] reaches Names[j]:
	// "X" for itself, "NV18" for so many links, "PIX", "PXB", "PHB", "NODE" and "SYS", each further than the one before.
	Names []string   `json:"names"`
	Paths [][]string `json:"paths"`
	// CPUs and NUMA are the affinities of the GPUs, by name. NICs are the network devices' own names, by theirs here.
	CPUs map[string]string `json:"cpus"`
	NUMA map[string]string `json:"numa"`
	NICs map[string]string `json:"nics,omitempty"`
	Reading
}

// Path is how one reaches another, empty if that is not said.
func (t Topology) Path(from, to string) string {
	i, j := slices.Index(t.Names, from), slices.Index(t.Names, to)
	if i < 0 || j < 0 || i >= len(t.Paths) || j >= len(t.Paths[i]) {
		return ""
	}
	return t.Paths[i][j]
}

var nicNamed = pattern.New(`^(NIC\d+): (\S+)$`)

// ReadTopology reads what `nvidia-smi topo -m` prints, also where tabs became blanks.
func ReadTopology(text []byte) Topology {
	t := Topology{CPUs: map[string]string{}, NUMA: map[string]string{}, NICs: map[string]string{}, Reading: Reading{Whole: true}}
	for _, l := range lines(text, &t.Reading) {
		text := strings.TrimSpace(l.text)
		words := strings.Fields(text)
		if m := nicNamed().FindStringSubmatch(text); m != nil && len(t.NICs) < RowLimit {
			t.NICs[clip(m[1])] = clip(m[2])
		} else if t.Names == nil && len(words) > 0 && words[0] == "GPU0" {
			t.head(words)
		} else if i := slices.Index(t.Names, first(words)); i >= 0 && t.Paths[i] == nil {
			t.row(l, i, words)
		}
	}
	if t.Names == nil {
		t.lack("there is no matrix")
	}
	for i, path := range t.Paths {
		if path == nil {
			t.lack("the row of %s is missing", t.Names[i])
		}
	}
	return t
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// head reads the names of the columns, up to the affinities.
func (t *Topology) head(words []string) {
	for _, word := range words {
		if word == "CPU" || len(t.Names) >= 256 {
			break
		}
		t.Names = append(t.Names, clip(word))
	}
	t.Paths = make([][]string, len(t.Names))
}

func (t *Topology) row(l line, i int, words []string) {
	n := len(t.Names)
	if len(words) < n+1 {
		t.lack("line %d is cut off: %s", l.number, l.quoted())
		return
	}
	for _, word := range words[1 : n+1] {
		t.Paths[i] = append(t.Paths[i], clip(word))
	}
	// Behind the paths, tabs part columns that may be empty.
	rest := words[n+1:]
	if cells := strings.Split(l.text, "\t"); len(cells) > n+1 {
		rest = cells[n+1:]
	}
	for j, to := range []map[string]string{t.CPUs, t.NUMA} {
		if j < len(rest) && strings.TrimSpace(rest[j]) != "" {
			to[t.Names[i]] = clip(strings.TrimSpace(rest[j]))
		}
	}
}
