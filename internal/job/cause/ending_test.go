package cause_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// logged is a run of three nodes, a task on each, that ended as Slurm says and wrote a text; a label says which task wrote it.
func logged(state string, exit cause.Exit, text, label string) cause.Evidence {
	e := failed(exit.Code)
	e.Run.State, e.Run.Exit, e.Run.Steps[0].Exit = state, exit, exit
	e.Run.Steps = append(e.Run.Steps, cause.Step{Name: "0", State: state, Exit: exit, Nodes: e.Run.Nodes, Tasks: len(e.Run.Nodes), Layout: "Cyclic"})
	var labelled strings.Builder
	for line := range strings.Lines(text) {
		labelled.WriteString(label + line)
	}
	e.Signs = signsOf(labelled.String())
	return e
}

func signsOf(text string) []cause.Sign {
	const most = 1000
	reader := &trainlog.Reader{}
	kept := cause.Gather(nil, "job.out", reader.Feed([]byte(text)), most)
	return cause.Gather(kept, "job.out", reader.End(), most)
}

// ending is a row of the tables of endings.
type ending struct {
	id      string
	state   string
	exit    cause.Exit
	text    string
	classes []string
	action  string
	says    string
}

// TestEndings judges what jobs wrote last, once where it is not known on which node that was, and once where it is the second.
func TestEndings(t *testing.T) {
	for _, path := range []string{"testdata/endings.tsv", "testdata/endings-more.tsv"} {
		for _, row := range endings(t, path) {
			for _, label := range []string{"", "1: "} {
				t.Run(filepath.Base(path)+"/"+row.id+label, func(t *testing.T) {
					v := cause.Judge(logged(row.state, row.exit, row.text, label))
					action, node := row.follows(label != "")
					if !slices.Contains(row.classes, string(v.Class)) || v.Action != action || strings.TrimSuffix(atFault(v), "!") != node || !strings.Contains(v.Text+v.Hint, row.says) {
						t.Errorf("got %s, %s at %q: %s; %s\nwant %s, %s at %q, %q", v.Class, v.Action, atFault(v), v.Text, v.Why, row.classes, action, node, row.says)
					}
				})
			}
		}
	}
}

// follows is what is to follow, and which node is to be at fault, where the node is known or not.
func (e ending) follows(known bool) (cause.Action, string) {
	word := strings.FieldsFunc(e.action, func(r rune) bool { return strings.ContainsRune(" :,", r) })[0]
	switch {
	case word == "elsewhere-always", known && (word == "elsewhere" || word == "stop-or-elsewhere"):
		return cause.Elsewhere, "q-st-b-2"
	case word == "elsewhere":
		return cause.Here, ""
	case word == "stop-or-elsewhere":
		return cause.Stop, ""
	}
	return cause.Action(word), ""
}

func endings(t *testing.T, path string) []ending {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []ending
	for line := range strings.Lines(string(data)) {
		cells := append(strings.Split(strings.TrimRight(line, "\n"), "\t"), "")
		if strings.HasPrefix(line, "#") || cells[0] == "id" {
			continue
		}
		if len(cells) < 7 {
			t.Fatalf("%s: %q", path, line)
		}
		how, number, _ := strings.Cut(cells[2], ": ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%s: %q", path, line)
		}
		exit := cause.Exit{Code: n}
		if how == "Signal" {
			exit = cause.Exit{Signal: n}
		}
		all = append(all, ending{cells[0], cells[1], exit, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(cells[3]), strings.Split(cells[4], " or "), cells[5], cells[6]})
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return all
}

// TestEndings_of_programs judges what programs wrote last: rows that say the class, what follows, the nodes at fault, and whether the job waits.
func TestEndings_of_programs(t *testing.T) {
	data, err := os.ReadFile("testdata/endings-programs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	written := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r")
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || cells[0] == "id" {
			continue
		}
		const columns = 11
		code, err1 := strconv.Atoi(cells[2])
		signal, err2 := strconv.Atoi(cells[3])
		if len(cells) != columns || err1 != nil || err2 != nil {
			t.Fatalf("%q", line)
		}
		t.Run(cells[0], func(t *testing.T) {
			v := cause.Judge(logged(cells[1], cause.Exit{Code: code, Signal: signal}, written.Replace(cells[5]), strings.TrimPrefix(cells[4], "-")))
			node := cmp.Or(strings.TrimSuffix(atFault(v), "!"), "-")
			if !oneOf(cells[6], string(v.Class)) || !oneOf(cells[7], string(v.Action)) || !oneOf(cells[8], node) || cells[9] == "later" && v.WaitSeconds == 0 {
				t.Errorf("got %s, %s at %s, a wait of %d s: %s; %s\nwant %q: %s", v.Class, v.Action, node, v.WaitSeconds, v.Text, v.Why, cells[6:10], cells[10])
			}
		})
	}
}

// oneOf reports whether a word is one of those between bars.
func oneOf(words, word string) bool { return slices.Contains(strings.Split(words, "|"), word) }
