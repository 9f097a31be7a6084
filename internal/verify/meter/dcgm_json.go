package meter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// dcgmDocument is dcgmi's JSON. The object around the tests is named differently by DCGM 3 and 4, and versions stand in or beside it.
type dcgmDocument struct {
	Three    *dcgmBody `json:"DCGM GPU Diagnostic"`
	Four     *dcgmBody `json:"DCGM Diagnostic"`
	Metadata dcgmAbout `json:"metadata"`
	dcgmAbout
	Entities []struct {
		Entities []struct {
			Device string `json:"device_id"`
		} `json:"entities"`
		Group string `json:"entity_group"`
	} `json:"entity_groups"`
	// Iterations are there with --iterations.
	Iterations []struct {
		Three *dcgmBody `json:"DCGM GPU Diagnostic"`
		Four  *dcgmBody `json:"DCGM Diagnostic"`
	} `json:"iterations"`
}

// bodies are those of all iterations.
func (doc dcgmDocument) bodies() []*dcgmBody {
	all := []*dcgmBody{doc.Three, doc.Four}
	for _, i := range doc.Iterations {
		all = append(all, i.Three, i.Four)
	}
	return slices.DeleteFunc(all, func(b *dcgmBody) bool { return b == nil })
}

type dcgmAbout struct {
	Version string   `json:"version"`
	Driver  string   `json:"Driver Version Detected"`
	Devices []string `json:"GPU Device IDs"`
}

type dcgmBody struct {
	dcgmAbout
	Categories []struct {
		Category string `json:"category"`
		Tests    []struct {
			Name    string       `json:"name"`
			Results []dcgmResult `json:"results"`
			Summary *dcgmResult  `json:"test_summary"`
		} `json:"tests"`
	} `json:"test_categories"`
	Error string `json:"runtime_error"`
}

type dcgmResult struct {
	Group    string          `json:"entity_group"`
	Entity   *int            `json:"entity_id"`
	GPUs     string          `json:"gpu_ids"`
	Status   string          `json:"status"`
	Warnings json.RawMessage `json:"warnings"`
	Level    int             `json:"warning_level"`
}

func (d *DCGM) json(text []byte) {
	var doc dcgmDocument
	d.decode(text, &doc)
	bodies := doc.bodies()
	if len(bodies) == 0 {
		d.lack("the JSON has no diagnosis")
	}
	for _, body := range bodies {
		d.body(body)
	}
	d.about(doc.Metadata)
	d.about(doc.dcgmAbout)
	for _, g := range doc.Entities {
		for _, e := range g.Entities {
			if g.Group == "GPU" {
				d.Devices = keep(d.Devices, clip(e.Device))
			}
		}
	}
}

func (d *DCGM) body(body *dcgmBody) {
	d.about(body.dcgmAbout)
	if body.Error != "" {
		d.Error = clip(body.Error)
	}
	for _, c := range body.Categories {
		for _, t := range c.Tests {
			if t.Name != "" {
				d.results(DCGMTest{Category: clip(c.Category), Name: clip(t.Name)}, t.Results, t.Summary)
			}
		}
	}
}

func (d *DCGM) about(a dcgmAbout) {
	if d.Version == "" {
		d.Version = clip(a.Version)
	}
	if d.Driver == "" {
		d.Driver = clip(a.Driver)
	}
	for _, id := range a.Devices {
		d.Devices = keep(d.Devices, clip(id))
	}
}

// results are those of a test on each device, and its summary where that says something else than they do.
func (d *DCGM) results(test DCGMTest, all []dcgmResult, summary *dcgmResult) {
	said := map[DCGMStatus]bool{}
	for _, r := range all {
		one := test
		one.On, one.Status, one.Messages = clip(r.on()), dcgmStatus(r.Status), r.messages()
		said[one.Status] = true
		if r.Status == "" {
			d.lack("the test %s has no status", test.Name)
			continue
		}
		d.Tests = keep(d.Tests, one)
	}
	if summary == nil {
		return
	}
	test.Status, test.Messages = dcgmStatus(summary.Status), summary.messages()
	if summary.Status != "" && !said[test.Status] {
		d.Tests = keep(d.Tests, test)
	}
}

func (r dcgmResult) on() string {
	if r.Entity != nil {
		return strings.TrimSpace(fmt.Sprintf("%s %d", r.Group, *r.Entity))
	}
	return r.GPUs
}

// messages are one text or several in DCGM 3, and objects in DCGM 4.
func (r dcgmResult) messages() []DCGMMessage {
	var one string
	if json.Unmarshal(r.Warnings, &one) == nil && one != "" {
		return []DCGMMessage{{Text: clip(one), Severity: r.Level}}
	}
	var all []json.RawMessage
	if json.Unmarshal(r.Warnings, &all) != nil {
		return nil
	}
	var out []DCGMMessage
	for _, raw := range all {
		var w struct {
			Category int    `json:"error_category"`
			ID       int    `json:"error_id"`
			Severity int    `json:"error_severity"`
			Warning  string `json:"warning"`
		}
		if json.Unmarshal(raw, &one) == nil {
			w.Warning, w.Severity = one, r.Level
		} else if json.Unmarshal(raw, &w) != nil {
			w.Warning = string(raw)
		}
		out = keep(out, DCGMMessage{Text: clip(w.Warning), ID: w.ID, Category: w.Category, Severity: w.Severity})
	}
	return out
}
