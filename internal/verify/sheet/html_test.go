package sheet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/internal/verify"
)

func options() Options {
	return Options{Hosts: slurm.Compress, Report: "report.json", SHA256: strings.Repeat("ab", 32), Seal: "signed by SHA256:abc"}
}

func TestHTML(t *testing.T) {
	text, err := HTML(sample(4), options())
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "page.html", string(text))
	inert(t, text)
}

// inert holds that a page runs and loads nothing, by what a browser's parser makes of it.
func inert(t *testing.T, text []byte) {
	t.Helper()
	page, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for n := range page.Descendants() {
		switch n.Data {
		case "script", "img", "iframe", "link", "object", "embed", "base", "form", "image", "use", "foreignObject", "a":
			if n.Type == html.ElementNode && n.Data != "a" {
				t.Errorf("the page has an element %s", n.Data)
			}
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "#suite-") {
				t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
			}
			if a.Key == "id" {
				if ids[a.Val]++; ids[a.Val] > 1 {
					t.Errorf("id %s stands twice", a.Val)
				}
			}
		}
	}
}

// numbers holds that what a page draws has places.
func numbers(t *testing.T, text []byte) {
	t.Helper()
	page, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range page.Descendants() {
		for _, a := range n.Attr {
			if n.Namespace == "svg" && (strings.Contains(a.Val, "NaN") || strings.Contains(a.Val, "Inf")) && !strings.HasPrefix(a.Key, "aria") {
				t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
}

// TestHTML_is_bounded has many nodes say much, and all of it different.
func TestHTML_is_bounded(t *testing.T) {
	r := sample(300)
	evidence := slices.Repeat([]string{strings.Repeat("<&>\"\x1b", 3000)}, 200)
	for c := range 22 {
		s := verify.Suite{Name: fmt.Sprint("suite", c)}
		for n := range 300 {
			x := verify.Result{Check: fmt.Sprintf("check-%d-%d", c, n%100), On: fmt.Sprintf("n%d", n), Verdict: verify.Fail, Why: strings.Repeat(fmt.Sprint("why", n), 50), Evidence: evidence}
			s.Results = append(s.Results, x)
		}
		r.Suites = append(r.Suites, s)
	}
	text, err := HTML(r, options())
	if err != nil {
		t.Fatal(err)
	}
	if most := 8 << 20; len(text) > most {
		t.Errorf("%d bytes, more than %d", len(text), most)
	}
	if !strings.Contains(string(text), "rows more are left out here") || !strings.Contains(string(text), "the rest is left out here") {
		t.Error("it does not say that something is left out")
	}
}

func TestRows(t *testing.T) {
	rows := Rows(sample(80).Suites[0])
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %s %s %s", r.Verdict, r.Check, slurm.Compress(r.On), r.Found))
	}
	want := []string{
		"fail bucket s3://corpus AccessDenied", "warn clock gpu-dy-p5e-6 2.7 s ahead", "pass slurmctld  answers", "pass accounting  knows training",
		"pass partition gpu UP, all nodes in service", "pass job-step gpu-dy-p5e-[1-80] ran", "pass clock gpu-dy-p5e-[1-5,7-80] 2 to 3 ms",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestRows_of_names: texts that differ in the node's name alone are one row, and names that begin alike are not taken for each other.
func TestRows_of_names(t *testing.T) {
	s := verify.Suite{Name: "gpu"}
	for _, n := range []string{"node-1", "node-10", "node-2"} {
		s.Results = append(s.Results, verify.Result{Check: "driver", On: n, Verdict: verify.Fail, Found: "none on " + n, Hint: "ssh " + n + " dnf install; see node-1-notes"})
	}
	rows := Rows(s)
	if len(rows) != 1 || rows[0].Found != "none on NODE" || rows[0].Hint != "ssh NODE dnf install; see node-1-notes" || len(rows[0].On) != 3 {
		t.Errorf("got %+v", rows)
	}
	if one := Rows(verify.Suite{Results: s.Results[:1]}); one[0].Found != "none on node-1" {
		t.Errorf("one alone loses its name: %+v", one)
	}
	s.Results = nil
	for n := range 100 {
		s.Results = append(s.Results, verify.Result{Check: "disk", On: fmt.Sprintf("n-%d", n), Verdict: verify.Warn, Found: fmt.Sprintf("%d %%", n)})
	}
	rows = Rows(s)
	if last := rows[len(rows)-1]; len(rows) != mostRows || len(last.On) != 100-mostRows+1 || last.Found != "11 %, and 88 others" || len(last.Each) != 89 {
		t.Errorf("%d rows, the last %+v", len(rows), last)
	}
}

// TestRows_that_name_nodes: what is said of several nodes in the same words is one row, also where these name one of them.
func TestRows_that_name_nodes(t *testing.T) {
	s := verify.Suite{Name: "basic"}
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		s.Results = append(s.Results, verify.Result{Check: "names", On: n, Verdict: verify.Pass, Found: "knows 3 names", Want: "head, node-1, node-3"})
	}
	if rows := Rows(s); len(rows) != 1 || len(rows[0].On) != 3 || rows[0].Want != "head, node-1, node-3" || rows[0].Found != "knows 3 names" {
		t.Errorf("%+v", rows)
	}
}

// TestRows_of_times: clocks that go either way are within the worst of them, with what is in doubt.
func TestRows_of_times(t *testing.T) {
	for want, numbers := range map[string][]verify.Value{
		"within 0.35 ms": {{Number: -12.9e-6, Doubt: 300e-6}, {Number: 46.9e-6, Doubt: 200e-6}},
		"within 0.05 ms": {{Number: -12.9e-6}, {Number: 50e-6}},
		"within 500 ms":  {{Number: 0.5}, {Number: -3e-9}},
		"2 to 3 ms":      {{Number: 0.002}, {Number: 0.003}},
		"0.05 to 4 s":    {{Number: 0.05}, {Number: 4}},
	} {
		s := verify.Suite{Name: "basic"}
		for i, v := range numbers {
			v.Unit = "s"
			s.Results = append(s.Results, verify.Result{Check: "clock", On: fmt.Sprint("node-", i), Verdict: verify.Pass, Found: fmt.Sprint(v.Number), Value: &v})
		}
		if rows := Rows(s); len(rows) != 1 || rows[0].Found != want {
			t.Errorf("%+v, want %s", rows, want)
		}
	}
}

// TestHTML_says_one_reason_once: what does not apply for one reason is one line of the summary, with all its checks.
func TestHTML_says_one_reason_once(t *testing.T) {
	s := verify.Suite{Name: "gpu"}
	for _, check := range []string{"gpu-count", "gpu-model", "gpu-ecc"} {
		for _, n := range []string{"n1", "n2:/x"} {
			s.Results = append(s.Results, verify.Result{Check: check, On: n, Verdict: verify.Skip, Why: "no GPUs here"})
		}
	}
	s.Results = append(s.Results, verify.Result{Check: "gpu-xid", On: "n1", Verdict: verify.Skip, Why: "no kernel log"},
		verify.Result{Check: "gpu-count", On: "n3", Verdict: verify.Blind, Why: "no GPUs here"}, verify.Result{Check: "gpu-ecc", On: "n3", Verdict: verify.Blind, Why: "no GPUs here"})
	var got []string
	for _, x := range pageOf(verify.Report{Suites: []verify.Suite{s}}, options()).Unseen {
		got = append(got, fmt.Sprint(x.Verdict.Word, " ", x.Check, " ", x.Others, " ", x.Why))
	}
	want := []string{"blind gpu-count [] no GPUs here", "blind gpu-ecc [] no GPUs here", "skip gpu-count [gpu-model gpu-ecc] no GPUs here", "skip gpu-xid [] no kernel log"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestHeat_without_slow_nodes says of which pair a cell is dark, where no node is slow.
func TestHeat_without_slow_nodes(t *testing.T) {
	m := verify.Matrix{Name: "network bandwidth", Unit: "GB/s", Nodes: []string{"n1", "n2", "n3", "n4"}}
	for i := range 6 {
		pair := [][2]int{{0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 3}, {1, 2}}[i]
		m.Pairs = append(m.Pairs, verify.Pair{A: pair[0], B: pair[1], Value: 10, Round: i / 2})
	}
	const even = "The median of each node's measurements is at least nine tenths of the median of all"
	if h := heatOf(m, "x", options()); h.Steady != even+"." || h.Slow != nil {
		t.Errorf("%q %v", h.Steady, h.Slow)
	}
	m.Pairs = append(m.Pairs, verify.Pair{A: 1, B: 0, Value: 3.4, Round: 3})
	if h := heatOf(m, "x", options()); h.Steady != even+"; less was 1 of 7 measurements: the worst is n2 and n1 in round 4, 3.4 GB/s, 34 % of the median." || h.Slow != nil {
		t.Errorf("%q %v", h.Steady, h.Slow)
	}
}

func TestHeat_of_many_is_by_blocks(t *testing.T) {
	r := sample(300)
	for _, s := range r.Suites {
		for _, m := range s.Matrices {
			h := heatOf(m, "x", options())
			if !strings.Contains(h.Note, "the worst of a block of 3 by 3 nodes") || len(h.Slow) != 1 || h.Slow[0].Node != "gpu-dy-p5e-11" {
				t.Errorf("%s %v", h.Note, h.Slow)
			}
		}
	}
}

// little is a report with each kind of thing once: the fuzzer makes what it finds smaller byte by byte, for a minute each unless it
// has -fuzzminimizetime=1x, and meanwhile counts no runs.
func little() verify.Report {
	r := sample(2)
	for i := range r.Suites {
		s := &r.Suites[i]
		s.Results, s.Series = s.Results[:min(len(s.Results), 1)], s.Series[:min(len(s.Series), 1)]
		for n := range s.Series {
			s.Series[n].Points = s.Series[n].Points[:2]
		}
	}
	r.Suites = slices.DeleteFunc(r.Suites, func(s verify.Suite) bool {
		return !slices.Contains([]string{verify.Network, verify.NCCL, verify.Storage}, s.Name)
	})
	return r
}

func FuzzHTML(f *testing.F) {
	text, _ := json.Marshal(little())
	f.Add(text)
	f.Add([]byte(`{"schema":1,"verdict":"pass","suites":[{"name":"network","verdict":"pass","matrices":[{"nodes":["a"],"pairs":[{"a":0,"b":0,"value":1e308}]}],"series":[{"x_unit":"B","points":[{"x":1e-300,"y":1e300}],"expected":1e-320}]},{"name":"storage","verdict":"pass","results":[{"verdict":"pass","value":{"number":1e-320,"expected":1e308}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := verify.Parse(text)
		if err != nil {
			return
		}
		page, err := HTML(r, options())
		if err != nil {
			t.Fatal(err)
		}
		inert(t, page)
		numbers(t, page)
		if _, err := JUnit(r); err != nil {
			t.Fatal(err)
		}
	})
}
