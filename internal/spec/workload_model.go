package spec

import (
	"path"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

func (r *Run) build(v View) {
	v.fill(r)
	if days := v.Key("Days"); days.Present() {
		r.Hours = 24 * days.Float()
	}
}

func (m *Model) build(v View) {
	v.fill(m)
	share := v.Key("Name")
	for _, key := range []string{"Nodes", "GPUs"} {
		if k := v.Key(key); k.Present() {
			share = k
		}
	}
	m.Place = v.doc.locate(share.Path())
	m.Place.Path = share.Path()
	m.Parameters, _ = ParseParameters(v.Key("Parameters").Text())
	if dir := v.Key("Checkpoints"); dir.Present() {
		m.Checkpoints = path.Clean(strings.ReplaceAll(dir.Text(), modelPlaceholder, m.Name))
	}
}

// maxParameters is far above the largest models.
const maxParameters = 1e18

// ParseParameters reads the size of a model: 70e9, 70000000000, 70B, 1.5T.
func ParseParameters(text string) (float64, bool) {
	scale := 1.0
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'K', 'k':
			scale = 1e3
		case 'M', 'm':
			scale = 1e6
		case 'B', 'b', 'G', 'g':
			scale = 1e9
		case 'T', 't':
			scale = 1e12
		}
		if scale > 1 {
			text = text[:n-1]
		}
	}
	if strings.ContainsAny(text, "xXpP_nN") { // hexadecimal, infinite and the like
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n * scale, err == nil && n*scale >= 1 && n*scale <= maxParameters
}

// A run lasts from a minute to ten years.
const minRunHours, maxRunHours = 1.0 / 60, 10 * 365 * 24

// ParseRun reads the length of a run: 14d, 36h, 2w.
func ParseRun(text string) (hours float64, ok bool) {
	scale, rest := 0.0, ""
	for unit, hours := range map[string]float64{"h": 1, "d": 24, "w": 7 * 24} {
		if before, found := strings.CutSuffix(text, unit); found {
			rest, scale = before, hours
		}
	}
	if strings.ContainsAny(rest, "xXpP_nNeE+-") {
		return 0, false
	}
	n, err := strconv.ParseFloat(rest, 64)
	return n * scale, err == nil && n*scale >= minRunHours && n*scale <= maxRunHours
}

func checkRun(v View) {
	days, hours := v.Key("Days"), v.Key("Hours")
	if days.Present() && hours.Present() {
		hours.Errorf("workload/run", "Days and Hours both say how long the run is").WithHint("remove one of them")
	}
	checkTime(days, "a minute or more", minRunHours/24, maxRunHours/24)
	checkTime(hours, "a minute or more", minRunHours, maxRunHours)
	checkTime(v.Key("RestartMinutes"), "0 or more", 0, 24*60)
	checkTime(v.Key("ReplacementHours"), "0 or more", 0, 90*24)
}

// checkTime holds that a time is in its range, the lower end of which is put in words.
func checkTime(v View, from string, least, most float64) {
	if x := v.Float(); v.Given() && !(x >= least && x <= most) {
		v.Errorf("workload/run", "%s is %s", v.Name(), yamledit.Clip(v.Text())).WithHint("give %s, and at most %g", from, most)
	}
}

// maxModels is far above what one cluster trains.
const maxModels = 10_000

// checkTrained checks the models. The cluster, which may be nil, has the queues.
func checkTrained(models View, c *Cluster) {
	if n := len(models.Items()); n > maxModels {
		models.Errorf("workload/size", "these are %d models; there can be %d", n, maxModels)
		return
	}
	var names unique
	for _, m := range models.Items() {
		names.check(m.Key("Name"), "workload/duplicate")
		checkParameters(m)
		checkShare(m, c)
		checkQueue(m.Key("Queue"), c)
	}
}

// checkQueue holds that the cluster, which may be nil, has a queue.
func checkQueue(q View, c *Cluster) {
	if q.Given() && c != nil && c.queue(q.Text()) == nil {
		q.Errorf("workload/queue", "there is no queue %s", quote(q.Text())).WithHint("%s", hintOf(q.Text(), c.queueNames(), "the cluster file has"))
	}
}

func checkParameters(m View) {
	if p := m.Key("Parameters"); p.node != nil && p.node.tag != "bad" {
		if _, ok := ParseParameters(p.Text()); !ok || p.node.kind != scalar || p.node.null() {
			p.Errorf("workload/parameters", "Parameters cannot be %s", p.node.describe()).
				WithHint("write the model's size as 70B, 1.5T or 70e9")
		}
	}
	if b := m.Key("BytesPerParameter"); b.Given() && !(b.Float() > 0 && b.Float() <= 1000) {
		b.Errorf("workload/parameters", "BytesPerParameter is %s", yamledit.Clip(b.Text())).
			WithHint("a checkpoint of mixed precision with Adam has 14")
	}
}

// checkShare checks which part of the cluster a model takes.
func checkShare(m View, c *Cluster) {
	gpus := m.Key("GPUs")
	if !gpus.Given() {
		return
	}
	if m.Key("Nodes").Present() {
		gpus.Errorf("workload/share", "Nodes and GPUs both say how much of the cluster the model takes").
			WithHint("GPUs is for a part of one node; remove it for whole nodes")
		return
	}
	queue := m.Key("Queue").Text()
	if c == nil || queue != "" && c.queue(queue) == nil {
		return
	}
	if most := c.gpusOfANode(queue); gpus.Int() > most {
		gpus.Errorf("workload/share", "GPUs is %d, and a node has %d", gpus.Int(), most).
			WithHint("GPUs is for a part of one node; give Nodes for more")
	}
}

// queue is the queue of a name, nil if there is none.
func (c *Cluster) queue(name string) *Queue {
	for i := range c.Scheduling.Queues {
		if c.Scheduling.Queues[i].Name == name {
			return &c.Scheduling.Queues[i]
		}
	}
	return nil
}

func (c *Cluster) queueNames() []string {
	var names []string
	for _, q := range c.Scheduling.Queues {
		names = append(names, q.Name)
	}
	return names
}

// gpusOfANode is how many GPUs the largest node of a queue has, or that of all
// queues without a name.
func (c *Cluster) gpusOfANode(queue string) int {
	most := 0
	for _, q := range c.Scheduling.Queues {
		if queue != "" && q.Name != queue {
			continue
		}
		for _, r := range q.ComputeResources {
			for _, name := range r.InstanceTypes {
				t, _ := catalog.Lookup(name)
				most = max(most, t.GPU.Count, t.AcceleratorCount)
			}
		}
	}
	return most
}
