package demo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/say/step"
)

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "1 s", 400 * time.Millisecond: "1 s", 3 * time.Second: "3 s", 14 * time.Second: "15 s", 57 * time.Second: "55 s",
		89 * time.Second: "90 s", 90 * time.Second: "2 min", 250 * time.Second: "4 min",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

var threeParts = []part{{name: "look"}, {name: "boot", about: 10 * time.Second}, {name: "train", about: 40 * time.Second}, {name: "end"}}

func TestOutline(t *testing.T) {
	for keep, end := range map[bool]string{false: "take everything down and prove that nothing is left", true: "leave the cluster up"} {
		want := []string{
			"A cluster on this machine, in about 50 s on two idle cores. What comes:",
			"    1 s  look", "   10 s  boot", "   40 s  train", "    1 s  end", "    1 s  " + end,
		}
		if diff := cmp.Diff(want, outline(threeParts, keep)); diff != "" {
			t.Errorf("keep %v (-want +got):\n%s", keep, diff)
		}
	}
	if len(threeParts) != 4 {
		t.Error("the outline changed the parts")
	}
}

// TestTitle has a machine that is slower than the outline says, as far as can be known, and
// one that is faster, of which nothing is promised.
func TestTitle(t *testing.T) {
	cases := map[string]struct {
		i    int
		done []step.Step
		want string
	}{
		"at_first":       {0, nil, "look (about 1 s, then 50 s more)"},
		"nothing_to_say": {1, []step.Step{{Name: "look", Seconds: 60}}, "boot (about 10 s, then 40 s more)"},
		"as_expected":    {2, []step.Step{{Name: "look"}, {Name: "boot", Seconds: 10}}, "train (about 40 s)"},
		"faster":         {2, []step.Step{{Name: "boot", Seconds: 1}}, "train (about 40 s)"},
		"slower":         {2, []step.Step{{Name: "boot", Seconds: 25}}, "train (about 2 min)"},
		"not_the_others": {2, []step.Step{{Name: "a step within", Seconds: 100}, {Name: "boot", Seconds: 10}}, "train (about 40 s)"},
	}
	idle := part{name: "idle", about: time.Minute, fixed: true}
	if got, want := title(append(threeParts[:3:3], idle), 2, []step.Step{{Name: "boot", Seconds: 25}}), "train (about 2 min, then 60 s more)"; got != want {
		t.Errorf("what takes the same time everywhere: got %q, want %q", got, want)
	}
	for name, c := range cases {
		if got := title(threeParts, c.i, c.done); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// told keeps what a reporter is told.
type told struct{ lines []string }

func (r *told) Begin(name string) { r.lines = append(r.lines, "begin "+name) }
func (r *told) Waiting(name, what string, since time.Duration) {
	r.lines = append(r.lines, fmt.Sprintf("%v %s: %s", since, name, what))
}
func (r *told) Note(line string) { r.lines = append(r.lines, "note "+line) }
func (r *told) Done(s step.Step) { r.lines = append(r.lines, "done "+s.Name) }

func TestNarrator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r told
		n := &narrator{to: &r}
		series := step.Series{Report: n}
		n.Begin("before")
		n.Waiting("before", "x", time.Second)
		err := n.during("boot", "boot (about 10 s)", func() error {
			return series.Do("boot", func() (string, error) {
				<-time.After(1500 * time.Millisecond) // of the bubble's own time
				n.Begin("head node")
				n.Waiting("head node", "slurmctld", 0)
				n.Note("a line")
				n.Done(step.Step{Name: "head node"})
				n.waiting("1 of 2")
				<-time.After(1600 * time.Millisecond)
				return "", nil
			})
		})
		if err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute)
		n.Begin("after")
		want := []string{
			"begin before", "1s before: x", "begin boot (about 10 s)", "1s boot (about 10 s): ",
			`1.5s boot (about 10 s): "head node"`, `1.5s boot (about 10 s): "head node": slurmctld`, "note a line", "done head node",
			"1.5s boot (about 10 s): 1 of 2", "3s boot (about 10 s): 1 of 2", "done boot", "begin after",
		}
		if diff := cmp.Diff(want, r.lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestStory holds that the short demo needs nothing that only the whole one installs, and
// that the whole one proves all that the short one does.
func TestStory(t *testing.T) {
	names := func(whole bool) (names []string) {
		for _, p := range (&demo{Options: Options{Whole: whole}}).story() {
			names = append(names, p.name)
		}
		return names
	}
	short, whole := names(false), names(true)
	if text := strings.Join(short, "\n"); strings.Contains(text, "PyTorch") || strings.Contains(text, "image") {
		t.Errorf("the short demo has %q", short)
	}
	rest := whole
	for _, name := range short {
		i := slices.Index(rest, name)
		if i < 0 {
			t.Fatalf("the whole demo lacks %q, or has it earlier: %q", name, whole)
		}
		rest = rest[i+1:]
	}
	begin, first, wait := slices.Index(whole, "begin to install PyTorch for an image"), slices.Index(whole, "run a job on all nodes"), slices.Index(whole, "install PyTorch for an image")
	if begin < 0 || begin > first || first > wait {
		t.Errorf("PyTorch is not installed beside the first job: %q", whole)
	}
	if whole[len(whole)-1] != "let idle nodes go" {
		t.Errorf("the whole demo ends with %q", whole[len(whole)-1])
	}
}
