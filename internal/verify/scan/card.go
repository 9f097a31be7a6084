//go:build linux

package scan

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/verify"
)

// Fields that are asked for together: a driver that does not know one of them answers for none, so those that not all know
// stand apart. The first of each group that a driver knows counts.
var (
	always = []string{
		"index", "name", "uuid", "memory.total", "pcie.link.gen.current", "pcie.link.gen.max", "pcie.link.width.current", "pcie.link.width.max",
		"ecc.mode.current", "persistence_mode", "power.limit", "temperature.gpu", "clocks.sm", "clocks.max.sm", "pstate", "compute_mode",
	}
	groups = [][]string{
		{"index", "power.default_limit"},
		{"index", "ecc.errors.uncorrected.volatile.total", "ecc.errors.uncorrected.aggregate.total"},
		{"index", "remapped_rows.pending", "remapped_rows.failure"},
		{"index", "mig.mode.current"},
		{"index", "fabric.state", "fabric.status"},
		{"index", "clocks_event_reasons.active"},
		{"index", "clocks_throttle_reasons.active"}, // before driver 535
	}
)

// cell is one value of one GPU.
type cell struct{ text, blind string }

// table is what drivers said: for each GPU, by its index, for each field its cell.
type table map[int]row

// mostGPUs bounds how many GPUs are kept.
const mostGPUs = 64

// cards are the GPUs, and what nvidia-smi tells of each.
func (e eye) cards(ctx context.Context) verify.Look[[]verify.GPUCard] {
	out, err := e.query(ctx, always)
	switch {
	case strings.Contains(out, "No devices were found"):
		return verify.Saw([]verify.GPUCard{})
	case err != nil:
		return verify.Unseen[[]verify.GPUCard](err.Error())
	}
	t := table{}
	t.begin(out)
	if len(t) == 0 {
		return verify.Unseen[[]verify.GPUCard]("nvidia-smi lists no GPU that could be read")
	}
	said, wrong := make([]string, len(groups)), make([]error, len(groups))
	var looks sync.WaitGroup
	for i, g := range groups {
		looks.Go(func() { said[i], wrong[i] = e.query(ctx, g) })
	}
	var links map[int][]float64
	var unlinked string
	looks.Go(func() { links, unlinked = e.links(ctx) })
	looks.Wait()
	for i, g := range groups {
		if wrong[i] != nil {
			t.blind(g, wrong[i].Error())
			continue
		}
		t.add(g, said[i])
	}
	all := []verify.GPUCard{}
	for index := range mostGPUs {
		if row, ok := t[index]; ok {
			c := row.card(index)
			if c.NVLinks = verify.Saw(links[index]); unlinked != "" {
				c.NVLinks = verify.Unseen[[]float64](unlinked)
			}
			all = append(all, c)
		}
	}
	return verify.Saw(all)
}

func (e eye) query(ctx context.Context, fields []string) (string, error) {
	return e.ask(ctx, "nvidia-smi", "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
}

// rows are the lines of nvidia-smi's CSV, which quotes nothing.
func rows(out string) (all [][]string) {
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), ", ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}

// begin takes the answer to the first query, which says what GPUs there are.
func (t table) begin(out string) {
	for _, cells := range rows(out) {
		if index, err := strconv.Atoi(cells[0]); err == nil && index >= 0 && index < mostGPUs && len(cells) == len(always) {
			t[index] = row{}
		}
	}
	t.add(always, out)
}

// add takes the answer to a query whose first field is the index.
func (t table) add(fields []string, out string) {
	for _, cells := range rows(out) {
		index, err := strconv.Atoi(cells[0])
		if err != nil || t[index] == nil || len(cells) != len(fields) {
			continue
		}
		for i, f := range fields {
			t[index][f] = cellOf(f, cells[i])
		}
	}
}

// cellOf is what nvidia-smi said of a field: with some words it says that the GPU has no such thing, with others that it does not know.
func cellOf(field, text string) cell {
	switch text {
	case "N/A", "[N/A]", "Not Supported", "[Not Supported]":
		return cell{blind: verify.NoSuch}
	case "", "Unknown", "[Unknown Error]", "[GPU requires reset]", "ERR!", "[Insufficient Permissions]":
		return cell{blind: fmt.Sprintf("nvidia-smi says %q of %s", text, field)}
	}
	return cell{text: short(text)}
}

// blind notes why a query has no answer, unless another has.
func (t table) blind(fields []string, why string) {
	for _, row := range t {
		for _, f := range fields[1:] {
			row[f] = cell{blind: why}
		}
	}
}

// row is what was said of one GPU, by field.
type row map[string]cell

func (r row) card(index int) verify.GPUCard {
	return verify.GPUCard{
		Index: index, Name: r["name"].text, UUID: r["uuid"].text, MemoryMiB: r.count64("memory.total"),
		PCIeGen: r.count("pcie.link.gen.current"), PCIeGenMax: r.count("pcie.link.gen.max"),
		PCIeWidth: r.count("pcie.link.width.current"), PCIeWidthMax: r.count("pcie.link.width.max"),
		ECC: r.word("ecc.mode.current"), ECCVolatile: r.count64("ecc.errors.uncorrected.volatile.total"),
		ECCAggregate: r.count64("ecc.errors.uncorrected.aggregate.total"),
		RemapPending: r.word("remapped_rows.pending"), RemapFailure: r.word("remapped_rows.failure"),
		Persistence: r.word("persistence_mode"), PowerLimitWatts: r.number("power.limit"), PowerDefaultWatts: r.number("power.default_limit"),
		TemperatureC: r.number("temperature.gpu"), ClockMHz: r.number("clocks.sm"), ClockMaxMHz: r.number("clocks.max.sm"), State: r.word("pstate"),
		Throttle: r.throttle(), MIG: r.word("mig.mode.current"), ComputeMode: r.word("compute_mode"),
		FabricState: r.word("fabric.state"), FabricStatus: r.word("fabric.status"),
	}
}

func (r row) of(field string) (text, blind string) {
	c, ok := r[field]
	if !ok {
		return "", "nvidia-smi says nothing of " + field
	}
	return c.text, c.blind
}

func (r row) word(field string) verify.Look[string] {
	text, blind := r.of(field)
	if blind != "" {
		return verify.Unseen[string](blind)
	}
	return verify.Saw(text)
}

func (r row) number(field string) verify.Look[float64] {
	text, blind := r.of(field)
	if blind != "" {
		return verify.Unseen[float64](blind)
	}
	return decimal(text)
}

func (r row) count64(field string) verify.Look[int64] {
	n, blind := r.number(field).See()
	if blind != "" {
		return verify.Unseen[int64](blind)
	}
	return verify.Saw(int64(n))
}

func (r row) count(field string) verify.Look[int] {
	n, blind := r.number(field).See()
	if blind != "" {
		return verify.Unseen[int](blind)
	}
	return verify.Saw(int(n))
}

// reasons are what a GPU's clock is held down by: the bits of nvmlClocksEventReasons in NVIDIA's nvml.h.
var reasons = [...]string{
	"idle", "applications-clocks", "power-cap", "hw-slowdown", "sync-boost", "sw-thermal", "hw-thermal", "hw-power-brake", "display-clocks",
}

// throttle are the reasons why a GPU's clock is held down.
func (r row) throttle() verify.Look[[]string] {
	text, blind := r.of("clocks_event_reasons.active")
	if blind != "" {
		if text, blind = r.of("clocks_throttle_reasons.active"); blind != "" {
			return verify.Unseen[[]string](blind)
		}
	}
	bits, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return verify.Unseen[[]string](fmt.Sprintf("%q is no set of bits", text))
	}
	all := []string{}
	for i, name := range reasons {
		if bits>>i&1 == 1 {
			all = append(all, name)
		}
	}
	return verify.Saw(all)
}

// links are the speeds of each GPU's NVLinks in GB/s, 0 for one that is down.
func (e eye) links(ctx context.Context) (links map[int][]float64, blind string) {
	out, err := e.ask(ctx, "nvidia-smi", "nvlink", "--status")
	if err != nil {
		return nil, err.Error()
	}
	links, index := map[int][]float64{}, -1
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "GPU "); ok {
			name, _, _ := strings.Cut(rest, ":")
			if index, err = strconv.Atoi(name); err != nil {
				index = -1
			}
			continue
		}
		if speed, ok := linkSpeed(line); ok && index >= 0 && index < mostGPUs && len(links[index]) < mostGPUs {
			links[index] = append(links[index], speed)
		}
	}
	return links, ""
}

// linkSpeed reads a line such as "Link 3: 26.562 GB/s" or "Link 3: <inactive>".
func linkSpeed(line string) (float64, bool) {
	rest, ok := strings.CutPrefix(line, "Link ")
	_, said, found := strings.Cut(rest, ": ")
	if !ok || !found {
		return 0, false
	}
	word, _, _ := strings.Cut(said, " ")
	speed, blind := decimal(word).See()
	return speed, blind == "" || strings.Contains(said, "inactive")
}
