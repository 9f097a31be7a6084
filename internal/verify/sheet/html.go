package sheet

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
)

// Options say what a page tells besides the report.
type Options struct {
	// Hosts writes names of nodes as a host list, such as gpu-[1-16]; nil writes each of them.
	Hosts func([]string) string
	// Report is the name of the report's JSON file, SHA256 its sum, and Seal what is said about its signature: whose it is and
	// how to prove it, or why there is none. Empty is left out.
	Report, SHA256, Seal string
}

//go:embed page.css
var css string

//go:embed page.html
var pageText string

// HTML is a report as one page that loads nothing and runs nothing. It stays below 10 MB whatever the report is; what is
// left out for that is said.
func HTML(r verify.Report, o Options) ([]byte, error) {
	if o.Hosts == nil {
		o.Hosts = func(names []string) string { return strings.Join(names, ",") }
	}
	text, err := fill(pageText, pageOf(r, o))
	if err != nil {
		return nil, fmt.Errorf("write the report's page: %w", err)
	}
	return text, nil
}

// view is what the template shows.
type view struct {
	Title, Policy    string
	CSS              raw
	Verdict          badge
	Headline, Error  string
	Facts            []fact
	Nodes            string
	Counts           []tally
	Problems, Unseen []item
	Suites           []section
	Report           string
	SHA256, Seal     string
}

// badge is a verdict as a word, a sign and a class.
type badge struct{ Word, Sign, Class string }

type tally struct {
	badge
	Number int
}

// section is a suite.
type section struct {
	ID, Name, Why, Took string
	Jobs                string
	Verdict             badge
	Items               []item
	LeftOut             int
	Undrawn             bool // says that there was no room for a plot
	Charts              []chart
	Bars                []bars
	Heats               []heat
}

// item is a row of a suite's table.
type item struct {
	Row
	ID      string
	Verdict badge
	Hosts   string
	Number  int // of places
	// Others are checks that the same is said of, and More in how many further rows: the places are in the suite's table.
	Others []string
	More   int
}

func badgeOf(v verify.Verdict) badge {
	sign := map[verify.Verdict]string{verify.Pass: "✓", verify.Warn: "!", verify.Fail: "✕", verify.Skip: "–", verify.Blind: "?"}[v]
	if sign == "" {
		return badge{Word: line(string(v)), Sign: "?", Class: "blind"}
	}
	return badge{Word: string(v), Sign: sign, Class: string(v)}
}

func pageOf(r verify.Report, o Options) view {
	v := view{
		Title: "Verification of " + line(r.Of()), CSS: raw(css), Policy: policy(css),
		Verdict: badgeOf(r.Verdict), Headline: headline(r), Error: line(r.Error), Facts: identity(r),
		Nodes: hosts(o, cleaned(r.Nodes)), Report: line(o.Report), SHA256: line(o.SHA256), Seal: printable(o.Seal),
	}
	for _, verdict := range listed() {
		v.Counts = append(v.Counts, tally{badgeOf(verdict), r.Counts[verdict]})
	}
	room := budget{rows: mostItems, words: mostWords, bytes: mostProof, plots: mostPlots}
	for i, s := range r.Suites[:min(len(r.Suites), mostSuites)] {
		section := sectionOf(s, i, o, &room)
		v.Suites = append(v.Suites, section)
		for _, x := range section.Items {
			switch x.Row.Verdict {
			case verify.Fail, verify.Warn:
				v.Problems = append(v.Problems, x)
			case verify.Blind, verify.Skip:
				v.unseen(x)
			}
		}
	}
	for _, list := range [][]item{v.Problems, v.Unseen} {
		slices.SortStableFunc(list, func(a, b item) int { return cmp.Compare(order(a.Row.Verdict), order(b.Row.Verdict)) })
	}
	return v
}

// unseen lists what was not looked at: what does not apply for one reason stands once for all checks of a suite.
func (v *view) unseen(x item) {
	for i := range v.Unseen {
		u := &v.Unseen[i]
		if x.Row.Verdict != verify.Skip || u.Row.Verdict != verify.Skip || u.Suite != x.Suite || u.Why != x.Why || u.Hint != x.Hint {
			continue
		}
		if !slices.Contains(u.Others, x.Check) && x.Check != u.Check {
			u.Others = append(u.Others, x.Check)
		}
		u.More++
		return
	}
	v.Unseen = append(v.Unseen, x)
}

func listed() []verify.Verdict {
	return []verify.Verdict{verify.Fail, verify.Blind, verify.Warn, verify.Skip, verify.Pass}
}

// policy forbids all that a page can load or run, but this style.
func policy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

func headline(r verify.Report) string {
	text := count.Of(len(r.Nodes), "node")
	if !r.Began.IsZero() {
		text += ", " + r.Began.UTC().Format("2 January 2006 15:04 UTC")
	}
	return text + ", took " + took(r.Seconds)
}

func took(s float64) string {
	if !finite(s) || s < 0 || s > 1e9 {
		return "an unknown time"
	}
	return count.Span(time.Duration(s * float64(time.Second)))
}

// Bounds of a page: suites, rows of all of them, bytes of their words, of evidence and of what was found at each place, of
// plots, and of a host list.
const (
	mostSuites = 40
	mostItems  = 2000
	mostWords  = 3 << 20
	mostProof  = 1 << 20
	mostPlots  = 4 << 20
	mostHosts  = 4000
)

// budget is what may still be shown.
type budget struct{ rows, words, bytes, plots int }

func sectionOf(s verify.Suite, n int, o Options, room *budget) section {
	v := section{ID: fmt.Sprintf("suite-%d", n), Name: line(s.Name), Why: line(s.Why), Verdict: badgeOf(s.Verdict), Took: took(s.Seconds)}
	if len(s.Jobs) > 0 {
		v.Jobs = strings.Trim(fmt.Sprint(s.Jobs[:min(len(s.Jobs), 20)]), "[]")
	}
	for i, row := range Rows(s) {
		if room.rows--; room.rows < 0 {
			v.LeftOut++
			continue
		}
		x := item{Row: row, ID: fmt.Sprintf("%s-%d", v.ID, i), Verdict: badgeOf(row.Verdict), Hosts: hosts(o, row.On), Number: len(row.On)}
		if room.words -= wordsOf(x); room.words < 0 {
			v.LeftOut++
			continue
		}
		room.take(&x.Row)
		v.Items = append(v.Items, x)
	}
	v.plot(s, o, room)
	return v
}

// plot draws what there is room for.
func (v *section) plot(s verify.Suite, o Options, room *budget) {
	if room.plots > 0 {
		for _, c := range chartsOf(s, v.ID) {
			if room.draws(c) {
				v.Charts = append(v.Charts, c)
			}
		}
	}
	if s.Name == verify.Storage {
		for _, b := range barsOf(s, v.ID) {
			if room.draws([]bars{b, b}) { // their texts are written twice
				v.Bars = append(v.Bars, b)
			}
		}
	}
	for i := 0; i < min(len(s.Matrices), mostHeats) && room.plots > 0; i++ {
		if h := heatOf(s.Matrices[i], fmt.Sprintf("%s-heat-%d", v.ID, i), o); room.draws(h) {
			v.Heats = append(v.Heats, h)
		}
	}
	v.Undrawn = len(s.Matrices) > len(v.Heats) || len(s.Series) > 0 && room.plots == 0
}

// draws says whether there is room for a plot, and takes it. Once there is none, nothing more is drawn.
func (b *budget) draws(plot any) bool {
	b.plots = max(b.plots-weight(reflect.ValueOf(plot)), 0)
	return b.plots > 0
}

// wordsOf is how many bytes a row's words take, which stand in its suite's table and in the list of what needs a look.
func wordsOf(x item) int {
	return 2 * weight(reflect.ValueOf([]string{x.Suite, x.Check, x.Found, x.Want, x.Why, x.Hint, x.Source, x.Hosts}))
}

// weight is about how many bytes of a page a value makes: its texts as they are written, and the marks around them.
func weight(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return len(html.EscapeString(v.String())) + 30
	case reflect.Float64:
		return 15
	case reflect.Struct:
		for i := range v.NumField() {
			n += weight(v.Field(i))
		}
		return n + 60
	case reflect.Slice:
		for i := range v.Len() {
			n += weight(v.Index(i))
		}
	}
	return n
}

// take leaves out what a row has beyond the page's room, and says so.
func (b *budget) take(r *Row) {
	for _, list := range []*[]Said{&r.Evidence, &r.Each} {
		for i, s := range *list {
			b.bytes -= weight(reflect.ValueOf(s))
			if b.bytes < 0 {
				*list = append((*list)[:i:i], Said{Lines: []string{"the rest is left out here, and the report's JSON has it"}})
				break
			}
		}
	}
}

// hosts writes names, at most so many bytes of them.
func hosts(o Options, names []string) string {
	if len(names) == 0 {
		return ""
	}
	text := o.Hosts(names)
	if len(text) > mostHosts {
		return strings.ToValidUTF8(text[:mostHosts], "") + "... (" + count.Of(len(names), "place") + ")"
	}
	return text
}

func cleaned(names []string) []string {
	all := make([]string, 0, len(names))
	for _, n := range names {
		all = append(all, line(n))
	}
	return all
}
