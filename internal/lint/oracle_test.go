package lint_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

var disagreementsTo = flag.String("disagreements", "", "a file for all disagreements with ParallelCluster, also the decided ones")

// verdict is what ParallelCluster said to a case; see bench/oracle/record.py.
type verdict struct {
	Case  string
	Crash string
	// Schema are errors of the schema, "kind path".
	Schema []string
	// Results are what validators said, "LEVEL Class place". More and Less are
	// what is other than for the case's base.
	Results, More, Less []string
}

// schemaRefuses reports whether the file did not get as far as the validators.
// ParallelCluster breaks on some files while it makes objects of them; AWS is
// asked only later.
func (v verdict) schemaRefuses() bool {
	return len(v.Schema) > 0 || v.Crash != "" && v.Crash != "AWSClientError"
}

// verdicts are those of a release, by case, with results in full.
func verdicts(t *testing.T, release string) map[string]verdict {
	t.Helper()
	in, err := os.Open(filepath.Join(oracleDir, release+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all := map[string]verdict{}
	scan := bufio.NewScanner(in)
	for scan.Scan() {
		var v verdict
		if err := json.Unmarshal(scan.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all[v.Case] = v
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	for name, v := range all {
		base, _, _ := strings.Cut(name, ":")
		if !v.schemaRefuses() && v.Results == nil {
			v.Results = slices.Concat(without(all[base+": the base"].Results, v.Less), v.More)
			all[name] = v
		}
	}
	return all
}

// without is a list less one of each of some others.
func without(list, less []string) []string {
	list = slices.Clone(list)
	for _, one := range less {
		if i := slices.Index(list, one); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// subject is what a class of ParallelCluster's validators is in muster.
type subject struct {
	codes []string
	// offline is false for what only AWS can tell, or muster need not say.
	offline bool
}

func (s subject) has(code string) bool {
	return slices.ContainsFunc(s.codes, func(c string) bool { return c == code || strings.HasPrefix(code, c+"/") })
}

// subjects reads the tables of classes: class, codes, how, remark. A code
// without a slash stands for all codes that begin with it.
func subjects(t *testing.T) map[string]subject {
	t.Helper()
	all := map[string]subject{}
	files, _ := filepath.Glob("testdata/classes-*.tsv")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
				continue
			}
			column := strings.Split(strings.TrimRight(line, "\n")+"\t\t\t", "\t")
			s := all[column[0]]
			for code := range strings.SplitSeq(column[1], ",") {
				s.codes = append(s.codes, strings.TrimPrefix(strings.TrimSpace(code), "spec:"))
			}
			s.offline = s.offline || column[2] == "offline"
			all[column[0]] = s
		}
	}
	return all
}

// disagreement is one thing that muster and ParallelCluster say differently of
// a case: "muster misses ERROR EfaValidator", "muster adds WARNING efa/off",
// "muster accepts", "muster refuses", "muster misses schema type Image.Os".
type disagreement struct{ what, name, said string }

// TestAgreesWithParallelCluster holds muster to what ParallelCluster's newest
// release says of every file of the corpus: whether it is refused, at which
// place its schema has something to say, and what validators say, by class and
// severity. docs/decisions/0013 has the method.
func TestAgreesWithParallelCluster(t *testing.T) {
	said := verdicts(t, "3.16.1")
	o := oracle{subjects: subjects(t)}
	cases := corpus(t, "*.txt")
	var found []disagreement
	agreeing, accepted := 0, 0
	for _, c := range cases {
		v, ok := said[c.String()]
		if !ok {
			t.Fatalf("%s: there is no verdict; run bench/oracle/run", c)
		}
		data, err := c.document()
		if err != nil {
			t.Fatal(err)
		}
		if !v.schemaRefuses() && !slices.ContainsFunc(v.Results, isError) {
			accepted++
		}
		news := o.compare(c, v, data)
		if len(news) == 0 {
			agreeing++
		}
		found = append(found, news...)
	}
	rest := decide(t, found)
	for _, d := range rest {
		t.Errorf("%s: %s; muster said: %s", d.name, d.what, d.said)
	}
	t.Logf("%d files, of which ParallelCluster takes %d: %d without a difference, %d differences decided, %d not",
		len(cases), accepted, agreeing, len(found)-len(rest), len(rest))
	report(t, found, rest)
}

// TestCorpusHearsEveryValidator finds the classes that speak in no case.
func TestCorpusHearsEveryValidator(t *testing.T) {
	heard := map[string]bool{}
	for _, v := range verdicts(t, "3.16.1") {
		for _, line := range v.Results {
			heard[strings.Fields(line)[1]] = true
		}
	}
	for class, s := range subjects(t) {
		if _, known := unheard[class]; s.offline && heard[class] == known {
			t.Errorf("%s: speaks: %t; expected not to: %t", class, heard[class], known)
		}
	}
}

func isError(line string) bool { return strings.HasPrefix(line, "ERROR ") }

var storage = regexp.MustCompile(`^SharedStorage\[\d+\]`)

// result takes a validator's result apart. Some validators have no place, and
// what is below shared storage lies elsewhere in ParallelCluster's objects.
func result(line string) (level, class, place string) {
	field := append(strings.Fields(line), "")
	level, class, place = field[0], field[1], field[2]
	if at := storage.FindString(place); at != "" {
		place = at
	}
	return level, class, place
}

// oracle compares what is said.
type oracle struct{ subjects map[string]subject }

func (o oracle) compare(c oracleCase, v verdict, data []byte) []disagreement {
	f := spec.OpenText("cluster.yaml", data, spec.Options{AWS: true})
	lint.Cluster(f)
	m := musterSays{f.Problems.All()}
	var whats []string
	switch {
	case v.schemaRefuses():
		whats = o.schema(v, m)
	case v.Crash != "":
		whats = refusal(true, m)
	default:
		whats = o.validators(v, m)
	}
	var all []disagreement
	for _, what := range whats {
		all = append(all, disagreement{what, c.String(), m.String()})
	}
	return all
}

func (o oracle) schema(v verdict, m musterSays) []string {
	whats := refusal(true, m)
	for _, line := range v.Schema {
		kind, path, _ := strings.Cut(line, " ")
		if kind != "yaml" && !m.refusesAt(around(kind, path)) {
			whats = append(whats, "misses schema "+kind+" "+numbers.ReplaceAllString(path, "[]"))
		}
	}
	return whats
}

var action = regexp.MustCompile(`^.*\.CustomActions\.OnNode[A-Za-z]+`)

// around is where muster may have put what ParallelCluster says at a path. A
// rule about two keys is told at either of them, and ParallelCluster does not
// say at which script of a sequence a problem is.
func around(kind, path string) string {
	if at := action.FindString(path); at != "" {
		return at
	}
	if i := strings.LastIndexByte(path, '.'); i >= 0 && kind == "rule" {
		return path[:i]
	}
	return path
}

func refusal(refused bool, m musterSays) []string {
	switch {
	case refused == m.refuses():
		return nil
	case refused:
		return []string{"accepts"}
	default:
		return []string{"refuses"}
	}
}

func (o oracle) validators(v verdict, m musterSays) []string {
	refused := false
	var whats []string
	for _, line := range v.Results {
		level, class, place := result(line)
		s, known := o.subjects[class]
		if !known {
			whats = append(whats, "does not know "+class)
		}
		if s.offline {
			refused = refused || level == "ERROR"
		}
		if s.offline && !m.says(level, s, place) {
			whats = append(whats, "misses "+level+" "+class)
		}
	}
	whats = append(whats, refusal(refused, m)...)
	for _, d := range m.said {
		level := levels[d.Severity]
		if level != "" && o.belongsToSome(d.Code) && !o.isSaid(v.Results, level, d) {
			whats = append(whats, "adds "+level+" "+d.Code)
		}
	}
	slices.Sort(whats)
	return slices.Compact(whats)
}

var levels = map[diag.Severity]string{diag.Error: "ERROR", diag.Warning: "WARNING", diag.Info: "INFO"}

// belongsToSome reports whether some class has the code.
func (o oracle) belongsToSome(code string) bool {
	for _, s := range o.subjects {
		if s.has(code) {
			return true
		}
	}
	return false
}

// isSaid reports whether a class of the diagnostic's code spoke at this level
// and there.
func (o oracle) isSaid(theirs []string, level string, d diag.Diagnostic) bool {
	return slices.ContainsFunc(theirs, func(line string) bool {
		theirLevel, class, place := result(line)
		return theirLevel == level && o.subjects[class].has(d.Code) && near(d.Path, place)
	})
}

// musterSays are muster's diagnostics of a file.
type musterSays struct{ said []diag.Diagnostic }

func (m musterSays) refuses() bool {
	return slices.ContainsFunc(m.said, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}

// refusesAt reports whether there is an error at a path, around it or below it.
func (m musterSays) refusesAt(path string) bool {
	return slices.ContainsFunc(m.said, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && near(d.Path, path)
	})
}

// near reports whether one path is at, below or around the other.
func near(a, b string) bool { return within(a, b) || within(b, a) }

func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

// says reports whether one of the subject's codes is there with a level, at a
// place of the file or around it.
func (m musterSays) says(level string, s subject, place string) bool {
	return slices.ContainsFunc(m.said, func(d diag.Diagnostic) bool {
		return levels[d.Severity] == level && s.has(d.Code) && near(d.Path, place)
	})
}

func (m musterSays) String() string {
	var all []string
	for _, d := range m.said {
		if d.Severity == diag.Error || d.Severity == diag.Warning {
			all = append(all, fmt.Sprintf("%s %s at %s", levels[d.Severity], d.Code, d.Path))
		}
	}
	return strings.Join(all, "; ")
}

func report(t *testing.T, all, rest []disagreement) {
	t.Helper()
	if *disagreementsTo == "" {
		return
	}
	var out strings.Builder
	for _, part := range [][]disagreement{rest, all} {
		slices.SortStableFunc(part, func(a, b disagreement) int { return strings.Compare(a.what, b.what) })
		for _, d := range part {
			fmt.Fprintf(&out, "muster %s\n    %s\n    muster said: %s\n", d.what, d.name, d.said)
		}
		fmt.Fprintf(&out, "\n==== decided and not: %d of %d\n\n", len(all)-len(rest), len(all))
	}
	if err := os.WriteFile(*disagreementsTo, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
