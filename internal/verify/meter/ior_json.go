package meter

import (
	"bytes"
	"encoding/json"
	"strings"
)

// iorDocument is as much as is read of IOR's JSON.
type iorDocument struct {
	Version string `json:"Version"`
	Tests   []struct {
		Options struct {
			API       string `json:"api"`
			File      string `json:"test filename"`
			Access    string `json:"access"`
			Nodes     int    `json:"nodes"`
			Tasks     int    `json:"tasks"`
			Transfer  string `json:"xfersize"`
			Block     string `json:"blocksize"`
			Aggregate string `json:"aggregate filesize"`
		} `json:"Options"`
		Results iorResults `json:"Results"`
	} `json:"tests"`
	Summary []struct {
		Op     string    `json:"operation"`
		Max    floatJSON `json:"bwMaxMIB"`
		Min    floatJSON `json:"bwMinMIB"`
		Mean   floatJSON `json:"bwMeanMIB"`
		StdDev floatJSON `json:"bwStdMIB"`
		MeanS  floatJSON `json:"MeanTime"`
	} `json:"summary"`
	Finished string `json:"Finished"`
}

// iorResults are the results of a test: one list in IOR 4, and in IOR 3 a list of each repetition's.
type iorResults []iorResult

type iorResult struct {
	Op      string    `json:"access"`
	MiBps   floatJSON `json:"bwMiB"`
	IOPS    floatJSON `json:"iops"`
	Latency floatJSON `json:"latency"`
	Open    floatJSON `json:"openTime"`
	Move    floatJSON `json:"wrRdTime"`
	Close   floatJSON `json:"closeTime"`
	Total   floatJSON `json:"totalTime"`
}

// UnmarshalJSON takes both forms.
func (r *iorResults) UnmarshalJSON(text []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, one := range all {
		var list []iorResult
		if json.Unmarshal(one, &list) == nil {
			*r = append(*r, list...)
			continue
		}
		var result iorResult
		if err := json.Unmarshal(one, &result); err != nil {
			return err
		}
		*r = append(*r, result)
	}
	return nil
}

// iorJSON reads IOR's JSON, and whether the text is meant to be some.
func iorJSON(text []byte) (o IOR, ok bool) {
	if !bytes.Contains(text, []byte(`"Command line"`)) {
		return o, false
	}
	o.Whole = true
	body, found := document(o.withoutTrouble(text), `"Command line"`)
	if !found {
		return IOR{}, false
	}
	var doc iorDocument
	o.decode(body, &doc)
	o.Version = clip(doc.Version)
	for _, test := range doc.Tests {
		p := test.Options
		o.API, o.Access, o.Path, o.Nodes, o.Tasks = clip(p.API), clip(p.Access), clip(p.File), p.Nodes, p.Tasks
		o.Transfer, o.Block, o.Aggregate = clip(p.Transfer), clip(p.Block), clip(p.Aggregate)
		o.results(test.Results)
	}
	for _, s := range doc.Summary {
		if !s.Mean.ok {
			o.lack("the summary of %q has no bandwidth", s.Op)
			continue
		}
		o.Summary = keep(o.Summary, IORSummary{Op: clip(s.Op), MaxMiBps: s.Max.value, MinMiBps: s.Min.value, MeanMiBps: s.Mean.value,
			StdDev: s.StdDev.value, MeanS: s.MeanS.value})
	}
	if doc.Finished == "" || len(o.Summary) == 0 {
		o.lack("the end is missing")
	}
	if len(o.Runs) == 0 {
		o.lack("nothing was measured")
	}
	return o, true
}

// withoutTrouble notes the warnings and errors that IOR and MPI write into the JSON's midst, and takes them out of it.
func (o *IOR) withoutTrouble(text []byte) []byte {
	t := iorText{IOR: IOR{Reading: Reading{Whole: true}}}
	var out []byte
	for _, l := range lines(text, &t.Reading) {
		if !t.trouble(l, strings.TrimSpace(l.text)) {
			out = append(append(out, l.text...), '\n')
		}
	}
	*o = t.IOR
	return out
}

func (o *IOR) results(all iorResults) {
	nth := map[string]int{}
	for _, r := range all {
		switch {
		case r.Op == "remove": // has no bandwidth
		case !r.MiBps.ok || !isOperation(r.Op):
			o.lack("a result has no operation or no bandwidth")
		default:
			o.Runs = keep(o.Runs, IORRun{Op: r.Op, Iteration: nth[r.Op], MiBps: r.MiBps.value, IOPS: r.IOPS.value, LatencyS: r.Latency.value,
				OpenS: r.Open.value, MoveS: r.Move.value, CloseS: r.Close.value, TotalS: r.Total.value})
			nth[r.Op]++
		}
	}
}
