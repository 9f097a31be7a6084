//go:build linux

package scan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/meter"
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
		{"index", "mig.mode.current"},
		{"index", "fabric.state", "fabric.status"},
		{"index", "clocks_event_reasons.active"},
		{"index", "clocks_throttle_reasons.active"}, // before driver 535
	}
)

// mostGPUs bounds how many GPUs are kept.
const mostGPUs = 64

// cards are the GPUs, and what nvidia-smi tells of each.
func (e eye) cards(ctx context.Context) verify.Look[[]verify.GPUCard] {
	first, err := e.query(ctx, always)
	switch {
	case len(first.GPUs) == 0 && strings.Contains(strings.Join(first.Problems, " "), "No devices were found"):
		return verify.Saw([]verify.GPUCard{})
	case err != nil:
		return verify.Unseen[[]verify.GPUCard](err.Error())
	case len(first.GPUs) == 0:
		return verify.Unseen[[]verify.GPUCard](short("nvidia-smi lists no GPU that could be read: " + strings.Join(first.Problems, "; ")))
	}
	rows := rowsOf(first)
	said, wrong := make([]meter.GPUQuery, len(groups)), make([]error, len(groups))
	var links map[int][]float64
	var unlinked string
	var looks sync.WaitGroup
	for i, g := range groups {
		looks.Go(func() { said[i], wrong[i] = e.query(ctx, g) })
	}
	looks.Go(func() { links, unlinked = e.links(ctx) })
	var remapped meter.GPUQuery
	var unmapped error
	looks.Go(func() { remapped, unmapped = e.remapped(ctx) })
	looks.Wait()
	for i, g := range groups {
		rows.add(g, said[i], wrong[i])
	}
	rows.add([]string{"index", "remapped_rows.pending", "remapped_rows.failure"}, rows.indexed(remapped), unmapped)
	all := []verify.GPUCard{}
	for _, index := range slices.Sorted(maps.Keys(rows)) {
		c := rows[index].card(index)
		c.NVLinks = verify.Saw(links[index])
		switch listed := links[index] != nil; {
		case unlinked != "":
			c.NVLinks = verify.Unseen[[]float64](unlinked)
		case links == nil:
			c.NVLinks = verify.Saw([]float64{})
		case !listed:
			c.NVLinks = verify.Unseen[[]float64]("nvidia-smi lists no NVLinks of it: they are all inactive, or it was not asked")
		}
		all = append(all, c)
	}
	return verify.Saw(all)
}

func (e eye) query(ctx context.Context, fields []string) (meter.GPUQuery, error) {
	out, err := e.ask(ctx, "nvidia-smi", "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
	return meter.ReadGPUQuery([]byte(out), fields...), err
}

func (e eye) remapped(ctx context.Context) (meter.GPUQuery, error) {
	out, err := e.ask(ctx, "nvidia-smi", meter.RemapQuery, "--format=csv,noheader")
	return meter.ReadRemap([]byte(out)), err
}

// table has what was said of each GPU, by its index.
type table map[int]row

// rowsOf are the GPUs of the first answer.
func rowsOf(first meter.GPUQuery) table {
	t := table{}
	for _, values := range first.GPUs {
		if index, ok := indexOf(values); ok && len(t) < mostGPUs {
			t[index] = row{values: meter.GPUValues{}, blind: map[string]string{}}
		}
	}
	t.add(always, first, nil)
	return t
}

// indexed gives GPUs that an answer names by UUID the index that they have.
func (t table) indexed(said meter.GPUQuery) meter.GPUQuery {
	for _, values := range said.GPUs {
		for _, row := range t {
			if u := row.values.Text("uuid"); u != "" && u == values.Text("uuid") {
				values["index"] = row.values["index"]
			}
		}
	}
	return said
}

func indexOf(values meter.GPUValues) (int, bool) {
	n, ok := values.Number("index")
	return int(n), ok && n >= 0 && n < 1<<16
}

// add takes another answer. What it does not have is not known if the answer says so, and does not exist otherwise.
func (t table) add(fields []string, said meter.GPUQuery, wrong error) {
	why := "nvidia-smi does not tell"
	if wrong != nil {
		why = wrong.Error()
	}
	for _, row := range t {
		for _, f := range fields[1:] {
			row.blind[f] = why
		}
	}
	for _, values := range said.GPUs {
		if index, ok := indexOf(values); ok && t[index].values != nil {
			maps.Copy(t[index].values, values)
			t[index].lacks(fields, said.Problems)
		}
	}
}

// lacks notes why values of a GPU that was told of are not there.
func (r row) lacks(fields, problems []string) {
	for _, f := range fields {
		r.blind[f] = verify.NoSuch
		for _, p := range problems {
			if strings.Contains(p, f) {
				r.blind[f] = "nvidia-smi's " + p
			}
		}
	}
}

// row is what was said of one GPU, by field.
type row struct {
	values meter.GPUValues
	// blind says of fields that have no value why that is so.
	blind map[string]string
}

func (r row) card(index int) verify.GPUCard {
	return verify.GPUCard{
		Index: index, Name: short(r.values.Text("name")), UUID: short(r.values.Text("uuid")), MemoryMiB: r.count64("memory.total"),
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
	if text = r.values.Text(field); text != "" {
		return short(text), ""
	}
	return "", cmp.Or(r.blind[field], "nvidia-smi says nothing of "+field)
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
	text, blind := r.of("clocks_event_reasons.active") // also where it has its older name
	if blind != "" {
		return verify.Unseen[[]string](blind)
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

// links are the speeds of each GPU's NVLinks in GB/s, 0 for one that is down, nil where there are none: of GPUs that have none, as an H200
// alone in a virtual machine, nvidia-smi prints nothing at all.
func (e eye) links(ctx context.Context) (links map[int][]float64, blind string) {
	out, err := e.ask(ctx, "nvidia-smi", "nvlink", "--status")
	if err != nil {
		return nil, err.Error()
	}
	if strings.TrimSpace(out) == "" {
		return nil, ""
	}
	read := meter.ReadNVLinks([]byte(out))
	if !read.Whole && len(read.GPUs) == 0 {
		return nil, short("nvidia-smi nvlink: " + strings.Join(read.Problems, "; "))
	}
	links = map[int][]float64{}
	for _, g := range read.GPUs[:min(len(read.GPUs), mostGPUs)] {
		for _, l := range g.Links[:min(len(g.Links), mostGPUs)] {
			links[g.Index] = append(links[g.Index], l.GBps)
		}
	}
	return links, ""
}
