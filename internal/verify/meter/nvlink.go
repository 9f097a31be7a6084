package meter

import (
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// NVLinks is what `nvidia-smi nvlink -s` prints: the links of each GPU.
type NVLinks struct {
	GPUs []GPULinks `json:"gpus"`
	Reading
}

// GPULinks are one GPU's links.
type GPULinks struct {
	Index int      `json:"index"`
	Name  string   `json:"name"`
	UUID  string   `json:"uuid"`
	Links []NVLink `json:"links"`
	// Inactive says that nvidia-smi lists no links because none is active.
	Inactive bool `json:"inactive,omitempty"`
}

// NVLink is one link. GBps is its rate in each direction, 0 if it is not active.
type NVLink struct {
	Number int     `json:"number"`
	GBps   float64 `json:"gbps"`
}

// Active is how many links of the GPU are.
func (g GPULinks) Active() int {
	n := 0
	for _, l := range g.Links {
		if l.GBps > 0 {
			n++
		}
	}
	return n
}

var linked = pattern.New(`^Link (\d+): (?:([0-9.]+) GB/s|<?(?i:inactive)>?)$`)

// ReadNVLinks reads what `nvidia-smi nvlink -s` prints, for one GPU or for all. Lines before the first GPU are skipped.
func ReadNVLinks(text []byte) NVLinks {
	v := NVLinks{Reading: Reading{Whole: true}}
	for _, l := range lines(text, &v.Reading) {
		text := strings.TrimSpace(l.text)
		if m := listedGPU().FindStringSubmatch(text); m != nil {
			n, _ := whole(m[1])
			v.GPUs = keep(v.GPUs, GPULinks{Index: int(n), Name: clip(m[2]), UUID: clip(m[3])})
			continue
		}
		if len(v.GPUs) > 0 {
			v.link(l, text)
		}
	}
	if len(v.GPUs) == 0 {
		v.lack("there are no GPUs")
	}
	for _, g := range v.GPUs {
		if most := v.GPUs[0]; !g.Inactive && !most.Inactive && len(g.Links) < max(1, len(most.Links)) && g.Name == most.Name {
			v.lack("GPU %d has %d lines of links, and GPU %d has %d", g.Index, len(g.Links), most.Index, len(most.Links))
		}
	}
	return v
}

func (v *NVLinks) link(l line, text string) {
	last := &v.GPUs[len(v.GPUs)-1]
	m := linked().FindStringSubmatch(text)
	switch {
	case m != nil:
		n, _ := whole(m[1])
		rate, _ := number(m[2])
		last.Links = keep(last.Links, NVLink{Number: int(n), GBps: rate})
	case strings.Contains(text, "all links are inActive"):
		last.Inactive = true
	case strings.HasPrefix(text, "Link") || strings.HasPrefix(text, "GPU") || strings.Contains(text, "NVML"):
		v.lack("line %d cannot be read: %s", l.number, l.quoted())
	}
}
