package meter

import "strings"

// testJSON is as much as is read of the file that nccl-tests' option -J writes, in its version 3. It holds the whole environment of
// the test besides, which is not read.
type testJSON struct {
	Version int      `json:"version"`
	Args    []string `json:"args"`
	NCCL    int      `json:"nccl_version"`
	Config  struct {
		Threads int `json:"nthreads"`
		GPUs    int `json:"ngpus"`
		Devices []struct {
			Rank   int    `json:"rank"`
			Group  int    `json:"group"`
			PID    int    `json:"pid"`
			Host   string `json:"hostname"`
			Device int    `json:"device"`
			Bus    string `json:"device_hex"`
			Info   string `json:"device_info"`
		} `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size  int64        `json:"size"`
		Count int64        `json:"count"`
		Type  string       `json:"type"`
		RedOp string       `json:"redop"`
		Root  string       `json:"root"`
		Out   *measureJSON `json:"out_of_place"`
		In    *measureJSON `json:"in_place"`
	} `json:"results"`
	OutOfBounds *struct {
		Count int64 `json:"count"`
	} `json:"out_of_bounds"`
	Average *struct {
		Bandwidth floatJSON `json:"bandwidth"`
	} `json:"average_bus_bandwidth"`
	Errors []string `json:"errors"`
	End    string   `json:"end_time"`
}

type measureJSON struct {
	Time    floatJSON  `json:"time"`
	CPUTime floatJSON  `json:"cpu_time"`
	Alg     floatJSON  `json:"alg_bw"`
	Bus     floatJSON  `json:"bus_bw"`
	Wrong   *floatJSON `json:"nwrong"`
}

// floatJSON is a number, or "nan", or nothing.
type floatJSON struct {
	value float64
	ok    bool
}

// UnmarshalJSON takes a number, also as a string; what is none is not ok.
func (f *floatJSON) UnmarshalJSON(text []byte) error {
	f.value, f.ok = number(strings.Trim(string(text), `"`))
	return nil
}

// collectiveJSON reads -J's file, and whether the text is meant to be one. Of a broken one the rows before the break are read.
func collectiveJSON(text []byte) (c Collective, ok bool) {
	text, found := document(text, `"version"`)
	if !found {
		return c, false
	}
	c.Whole = true
	var doc testJSON
	c.decode(text, &doc)
	c.about(doc)
	for i, r := range doc.Results {
		root, isRoot := whole(r.Root)
		if !isRoot {
			root = -1
		}
		row := Row{Bytes: r.Size, Count: r.Count, Type: clip(r.Type), RedOp: clip(r.RedOp), Root: int(root)}
		if row.OutOfPlace, row.InPlace = r.Out.measure(), r.In.measure(); r.In != nil && row.InPlace == nil || r.Out != nil && row.OutOfPlace == nil {
			c.lack("row %d has no numbers", i+1)
		}
		c.Rows = keep(c.Rows, row)
	}
	c.closing(doc)
	return c, true
}

func (c *Collective) about(doc testJSON) {
	if doc.Version != 3 {
		c.lack("the file's version is %d; 3 is known", doc.Version)
	}
	if len(doc.Args) > 0 {
		name := doc.Args[0]
		c.Name = clip(strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], "_perf"))
	}
	c.NCCL = doc.NCCL
	for _, d := range doc.Config.Devices {
		c.Devices = keep(c.Devices, Device{Rank: d.Rank, Group: d.Group, PID: d.PID, Host: clip(d.Host), Index: d.Device, Bus: clip(d.Bus), Name: clip(d.Info)})
	}
	// The file names only the first device of each process.
	c.Ranks = len(c.Devices) * max(1, doc.Config.Threads) * max(1, doc.Config.GPUs)
}

func (c *Collective) closing(doc testJSON) {
	if doc.OutOfBounds != nil {
		c.OutOfBounds = &doc.OutOfBounds.Count
	}
	switch {
	case doc.Average == nil || doc.End == "":
		c.lack("the end is missing")
	case !doc.Average.Bandwidth.ok:
		c.lack("the average bus bandwidth is no number")
	}
	if doc.Average != nil {
		c.AvgBusGBps = doc.Average.Bandwidth.value
	}
	if len(doc.Results) == 0 {
		c.lack("there are no rows")
	}
	for _, e := range doc.Errors {
		if e != "" {
			c.lack("error: %s", e)
		}
	}
}

func (m *measureJSON) measure() *Measure {
	if m == nil {
		return nil
	}
	if !m.Time.ok {
		m.Time = m.CPUTime
	}
	if !m.Time.ok || !m.Alg.ok || !m.Bus.ok {
		return nil
	}
	out := Measure{TimeUs: m.Time.value, AlgGBps: m.Alg.value, BusGBps: m.Bus.value}
	if m.Wrong != nil && m.Wrong.ok {
		wrong := int64(m.Wrong.value)
		out.Wrong = &wrong
	}
	return &out
}
