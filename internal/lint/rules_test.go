package lint_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// fixture is a change of the base file, and whether a code is reported for it.
//
//	# storage/ebs-iops
//	bad  SharedStorage[1].EbsSettings = {VolumeType: io1, Size: 100, Iops: 65000}
//	at   SharedStorage[1].EbsSettings.Iops
//	good SharedStorage[1].EbsSettings = {VolumeType: io1, Size: 100, Iops: 5000}
//	and  Region = eu-west-1
//
// "aws" changes an answer of AWS in testdata/inventory.yaml; the files online*.txt
// are of the rules that have such answers. "and" changes one thing more, "[+]" adds to a list, "= ~~" removes a key. A line
// "level 3.13" has the file read at that level of the schema.
type fixture struct {
	code    string
	bad     bool
	at      string
	line    int
	level   spec.Level
	changes []change
	// answers are changes of what AWS answers, which online rules are given.
	answers []change
	online  bool
}

type change struct{ path, value string }

func (f fixture) String() string {
	kind := "good"
	if f.bad {
		kind = "bad"
	}
	return fmt.Sprintf("%s %s (line %d)", f.code, kind, f.line)
}

func fixtures(t *testing.T, file string) []fixture {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var all []fixture
	code := ""
	scan := bufio.NewScanner(in)
	for n := 1; scan.Scan(); n++ {
		word, rest, _ := strings.Cut(scan.Text(), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "":
		case "#":
			code = rest
		case "bad", "good", "and", "aws":
			if word == "bad" || word == "good" {
				all = append(all, fixture{code: code, bad: word == "bad", line: n, online: strings.HasPrefix(filepath.Base(file), "online")})
			}
			path, value, ok := strings.Cut(rest, " = ")
			if !ok && rest != "the base" || len(all) == 0 {
				t.Fatalf("%s:%d: no change", file, n)
			}
			switch last := &all[len(all)-1]; {
			case ok && word == "aws":
				last.answers = append(last.answers, change{path, value})
			case ok:
				last.changes = append(last.changes, change{path, value})
			}
		case "at":
			all[len(all)-1].at = rest
		case "level":
			level, err := spec.ParseLevel(rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, n, err)
			}
			all[len(all)-1].level = level
		default:
			t.Fatalf("%s:%d: %q is not known", file, n, word)
		}
	}
	return all
}

// document is the base file with a fixture's changes.
func (f fixture) document(t *testing.T) []byte {
	t.Helper()
	return f.changed(t, "testdata/base.yaml", f.changes)
}

// inventory is what AWS answers, with a fixture's changes.
func (f fixture) inventory(t *testing.T) inventory.Inventory {
	t.Helper()
	var values any
	if err := yaml.Unmarshal(f.changed(t, "testdata/inventory.yaml", f.answers), &values); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var inv inventory.Inventory
	if err := json.Unmarshal(data, &inv); err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return inv
}

func (f fixture) changed(t *testing.T, base string, changes []change) []byte {
	t.Helper()
	data, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		var value yaml.Node
		if err := yaml.Unmarshal([]byte(c.value), &value); err != nil {
			t.Fatalf("%s: %s: %v", f, c.value, err)
		}
		if err := set(tree.Content[0], c.path, value.Content[0], c.value == "~~"); err != nil {
			t.Fatalf("%s: %s: %v", f, c.path, err)
		}
	}
	out, err := yaml.Marshal(&tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An instance type's name has a dot in it.
var step = regexp.MustCompile(`([a-z][a-z0-9]*\.[0-9]*[a-z]*large|[^.\[\]]+)|\[(\d+|\+)\]`)

// set changes the value at a path, and makes the maps on the way.
func set(n *yaml.Node, path string, value *yaml.Node, remove bool) error {
	steps := step.FindAllStringSubmatch(path, -1)
	for i, s := range steps {
		last := i == len(steps)-1
		next, err := into(n, s, last && remove)
		if err != nil {
			return err
		}
		if last && !remove {
			*next = *value
		} else if !last && next.Kind == 0 {
			next.Kind = yaml.MappingNode
			if steps[i+1][1] == "" {
				next.Kind = yaml.SequenceNode
			}
		}
		n = next
	}
	return nil
}

func into(n *yaml.Node, s []string, remove bool) (*yaml.Node, error) {
	if s[1] == "" {
		if s[2] == "+" {
			n.Content = append(n.Content, &yaml.Node{})
		}
		i := len(n.Content) - 1
		if s[2] != "+" {
			i, _ = strconv.Atoi(s[2])
		}
		if i < 0 || i >= len(n.Content) {
			return nil, fmt.Errorf("there is no item %s", s[2])
		}
		found := n.Content[i]
		if remove {
			n.Content = slices.Delete(n.Content, i, i+1)
		}
		return found, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != s[1] {
			continue
		}
		found := n.Content[i+1]
		if remove {
			n.Content = slices.Delete(n.Content, i, i+2)
		}
		return found, nil
	}
	if remove {
		return nil, fmt.Errorf("there is no %s", s[1])
	}
	v := &yaml.Node{}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: s[1]}, v)
	return v, nil
}

// problems are those that rules report for a document.
func problems(data []byte, level spec.Level) []diag.Diagnostic {
	f := spec.OpenText("cluster.yaml", data, spec.Options{AWS: true, Level: level})
	lint.Cluster(f)
	return f.Problems.All()
}

// TestRules holds every rule to its fixtures: what it reports, where, and in
// which words, and what it does not report.
func TestRules(t *testing.T) {
	files, _ := filepath.Glob("testdata/rules/*.txt")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var said strings.Builder
			for _, f := range fixtures(t, file) {
				found := f.check(t)
				for _, d := range found {
					fmt.Fprintf(&said, "%s %s at %s: %s\n", d.Severity, d.Code, d.Path, d.Message)
					if d.Hint != "" {
						fmt.Fprintf(&said, "    %s\n", d.Hint)
					}
				}
			}
			golden.Check(t, filepath.Join("rules", strings.TrimSuffix(filepath.Base(file), ".txt")+".golden"), said.String())
		})
	}
}

func (f fixture) check(t *testing.T) []diag.Diagnostic {
	t.Helper()
	data := f.document(t)
	all := problems(data, f.level)
	if f.online {
		file := spec.OpenText("cluster.yaml", data, spec.Options{AWS: true, Level: f.level})
		lint.Online(file, f.inventory(t))
		all = file.Problems.All()
	}
	var found []diag.Diagnostic
	for _, d := range all {
		if d.Code == f.code && (f.at == "" || d.Path == f.at) {
			found = append(found, d)
		}
	}
	if f.bad != (len(found) > 0) {
		t.Errorf("%s: found %d; all problems:", f, len(found))
		for _, d := range all {
			t.Logf("    %s %s at %s: %s", d.Severity, d.Code, d.Path, d.Message)
		}
		t.Logf("the file:\n%s", data)
	}
	return found
}

// codeLiteral is a code in a call or a table; imports have no comma.
var codeLiteral = regexp.MustCompile(`"([a-z0-9]+/[a-z0-9-]+)",`)

// TestEveryRuleHasFixtures finds the codes in the sources.
func TestEveryRuleHasFixtures(t *testing.T) {
	have := map[string]map[bool]bool{}
	files, _ := filepath.Glob("testdata/rules/*.txt")
	for _, file := range files {
		for _, f := range fixtures(t, file) {
			if have[f.code] == nil {
				have[f.code] = map[bool]bool{}
			}
			have[f.code][f.bad] = true
		}
	}
	sources, _ := filepath.Glob("*.go")
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeLiteral.FindAllStringSubmatch(string(text), -1) {
			if !have[m[1]][true] || !have[m[1]][false] {
				t.Errorf("%s: %s needs a bad and a good fixture in testdata/rules", file, m[1])
			}
		}
	}
}

// TestTheBaseIsGood keeps fixtures from passing for a reason of the base's.
func TestTheBaseIsGood(t *testing.T) {
	for _, d := range problems((fixture{}).document(t), spec.Newest) {
		if d.Severity == diag.Error || d.Severity == diag.Warning {
			t.Errorf("%s %s at %s: %s", d.Severity, d.Code, d.Path, d.Message)
		}
	}
}
