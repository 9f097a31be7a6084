package meter

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// GPUQuery is what `nvidia-smi --query-gpu=... --format=csv` prints, with header or noheader, with units or nounits.
type GPUQuery struct {
	// Fields are the names of the columns, in their newest form and without units.
	Fields []string    `json:"fields"`
	GPUs   []GPUValues `json:"gpus"`
	Reading
}

// GPUValues are the values of one GPU, or of one moment of it, by field. A value that the GPU does not have ("[N/A]", "[Not Supported]") is
// not there.
type GPUValues map[string]GPUValue

// GPUValue is the text of a value without its unit, and its unit such as "MiB", "%" or "W".
type GPUValue struct {
	Text string `json:"text"`
	Unit string `json:"unit,omitempty"`
}

// Number is a field as a number, and whether there is one.
func (v GPUValues) Number(field string) (float64, bool) { return number(v[renamed(field)].Text) }

// Text is a field as text, empty if it is not there.
func (v GPUValues) Text(field string) string { return v[renamed(field)].Text }

// renamed is a field's newest name.
func renamed(field string) string {
	if rest, ok := strings.CutPrefix(field, "clocks_throttle_reasons."); ok {
		return "clocks_event_reasons." + rest
	}
	switch field {
	case "gpu_name":
		return "name"
	case "gpu_uuid":
		return "uuid"
	case "gpu_bus_id":
		return "pci.bus_id"
	}
	return field
}

var fieldNamed = pattern.New(`^([a-z][a-z0-9_.]*)(?: \[([^\]]+)\])?$`)

// ReadGPUQuery reads a query's answer. fields are those that were asked for, which count where the answer has no header.
func ReadGPUQuery(text []byte, fields ...string) GPUQuery {
	q := GPUQuery{Reading: Reading{Whole: true}}
	var units []string
	for _, l := range lines(text, &q.Reading) {
		text := strings.TrimSpace(l.text)
		cells := split(text)
		switch names, its := header(cells); {
		case text == "":
		case q.trouble(text):
		case q.Fields == nil && names != nil:
			q.Fields, units = names, its
			continue
		default:
			if q.Fields == nil {
				for _, field := range fields {
					q.Fields = append(q.Fields, renamed(field))
				}
				units = make([]string, len(fields))
			}
			q.row(l, cells, units)
		}
	}
	if len(q.GPUs) == 0 {
		q.lack("there are no GPUs in the answer")
	}
	return q
}

func split(text string) []string {
	cells := strings.Split(text, ",")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// header is the names and units of a line of names, nil if it is none.
func header(cells []string) (names, units []string) {
	for _, cell := range cells {
		m := fieldNamed().FindStringSubmatch(cell)
		if m == nil {
			return nil, nil
		}
		names, units = append(names, renamed(m[1])), append(units, m[2])
	}
	return names, units
}

// trouble tells lines with which nvidia-smi says that it cannot see a GPU, or any.
func (q *GPUQuery) trouble(text string) bool {
	is := slices.ContainsFunc([]string{"No devices were found", "NVIDIA-SMI has failed", "Failed to initialize NVML", "Unable to determine the device handle",
		"is not a valid field to query", "couldn't communicate with the NVIDIA driver", "Driver/library version mismatch"}, func(s string) bool { return strings.Contains(text, s) })
	if is {
		q.lack("%s", text)
	}
	return is
}

func (q *GPUQuery) row(l line, cells, units []string) {
	if len(cells) != len(q.Fields) {
		q.lack("line %d has %d values instead of %d: %s", l.number, len(cells), len(q.Fields), l.quoted())
		return
	}
	values := GPUValues{}
	for i, cell := range cells {
		switch strings.Trim(cell, "[]") {
		case "N/A", "Not Supported", "Insufficient Permissions", "Not Active", "":
		case "Unknown Error", "GPU is lost", "ERR!", "GPU requires reset", "Requested functionality has been deprecated":
			q.lack("line %d: %s is %s", l.number, q.Fields[i], cell)
		default:
			values[q.Fields[i]] = quantity(clip(cell), units[i])
		}
	}
	q.GPUs = keep(q.GPUs, values)
}

// quantity parts a number from its unit, which stands behind it, or in the header alone.
func quantity(cell, unit string) GPUValue {
	if n, its, ok := strings.Cut(cell, " "); ok && numeric(n) && !strings.Contains(its, " ") && (unit == "" || unit == its) {
		return GPUValue{Text: n, Unit: its}
	}
	if !numeric(cell) {
		unit = ""
	}
	return GPUValue{Text: cell, Unit: unit}
}

// RemapQuery is what nvidia-smi is asked for rows of memory that were replaced. They are no fields of --query-gpu, and GPUs have no index there:
// https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html and `nvidia-smi --help-query-remapped-rows`.
const RemapQuery = "--query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure"

// ReadRemap reads the answer to RemapQuery.
func ReadRemap(text []byte) GPUQuery {
	return ReadGPUQuery(text, "gpu_uuid", "remapped_rows.pending", "remapped_rows.failure")
}

// Remapped tells a value of RemapQuery that is no: drivers write a word, or 0 and 1.
func Remapped(value string) bool { return !slices.Contains([]string{"", "No", "no", "0"}, value) }

// GPUList is what `nvidia-smi -L` prints.
type GPUList struct {
	GPUs []GPUListed `json:"gpus"`
	Reading
}

// GPUListed is one GPU, with the UUIDs of its parts if it is parted (MIG).
type GPUListed struct {
	Index int      `json:"index"`
	Name  string   `json:"name"`
	UUID  string   `json:"uuid"`
	Parts []string `json:"parts,omitempty"`
}

var listedGPU = pattern.New(`^GPU (\d+): (.*) \(UUID: ([^)]+)\)$`)

var listedPart = pattern.New(`^MIG .* Device +\d+: +\(UUID: ([^)]+)\)$`)

// ReadGPUList reads what `nvidia-smi -L` prints. It has no end by which one could tell that it is whole.
func ReadGPUList(text []byte) GPUList {
	g := GPUList{Reading: Reading{Whole: true}}
	for _, l := range lines(text, &g.Reading) {
		text := strings.TrimSpace(l.text)
		if m := listedGPU().FindStringSubmatch(text); m != nil {
			n, _ := whole(m[1])
			g.GPUs = keep(g.GPUs, GPUListed{Index: int(n), Name: clip(m[2]), UUID: clip(m[3])})
		} else if m := listedPart().FindStringSubmatch(text); m != nil && len(g.GPUs) > 0 {
			last := &g.GPUs[len(g.GPUs)-1]
			last.Parts = keep(last.Parts, clip(m[1]))
		} else if text != "" {
			g.lack("line %d cannot be read: %s", l.number, l.quoted())
		}
	}
	if len(g.GPUs) == 0 {
		g.lack("there are no GPUs")
	}
	return g
}
