package slurm

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// historyDelimiter is one that users know.
const historyDelimiter = "\x1f"

// sacctRows is what sacct writes for jobs of which each has a number, a name and a directory.
func sacctRows(jobs ...[3]string) []byte { return sacctTable(historyFields, historyDelimiter, jobs...) }

// sacctTable is that with such columns, and such a text between them.
func sacctTable(fields, delimiter string, jobs ...[3]string) []byte {
	columns := strings.Split(fields, ",")
	lines := []string{strings.Join(columns, delimiter)}
	for _, j := range jobs {
		values := make([]string, len(columns))
		for i, c := range columns {
			values[i] = map[string]string{"JobIDRaw": j[0], "JobID": j[0], "JobName": j[1], "WorkDir": j[2], "State": "COMPLETED", "ExitCode": "0:0"}[c]
		}
		lines = append(lines, strings.Join(values, delimiter))
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// checkHostile holds that what a job is called and where it runs loses no other job's run, and without the delimiter not
// its own either.
func checkHostile(t *testing.T, name, dir string) {
	t.Helper()
	runs, problems := ParseHistory(sacctRows([3]string{"6", "a", "/a"}, [3]string{"7", name, dir}, [3]string{"8", "two\nlines", "/b\nc"},
		[3]string{"9", "d", "/d"}), historyDelimiter, time.UTC)
	for _, want := range []Run{{ID: 6, Name: "a", WorkDir: "/a"}, {ID: 8, Name: "two\nlines", WorkDir: "/b\nc"}, {ID: 9, Name: "d", WorkDir: "/d"}} {
		if !slices.ContainsFunc(runs, func(r Run) bool { return r.ID == want.ID && r.Name == want.Name && r.WorkDir == want.WorkDir }) {
			t.Errorf("name %q, directory %q: job %d is lost: %+v, %v", name, dir, want.ID, runs, problems)
		}
	}
	if strings.Contains(name+dir, historyDelimiter) {
		return
	}
	if len(runs) != 4 || len(problems) > 0 || runs[1].Name != strings.ToValidUTF8(name, "\uFFFD") {
		t.Errorf("name %q, directory %q: %+v, %v", name, dir, runs, problems)
	}
}

var hostileValues = []string{"", "\n", "\n\n", "/a\nb", "|", "a|b\n|", "\n8", "8\n", "7\n7", "x\x1f7", "\n8\x1f", "\x1f8\n8\x1f8", "\n8\x1f8\n",
	strings.Repeat("\x1f", 18) + "7\n", "\n8" + strings.Repeat("\x1f", 19) + "8\n", "\n8" + strings.Repeat("\x1f", 18) + "\n9\x1f", "\xff\n\xe2"}

func TestHostileNames(t *testing.T) {
	for _, name := range hostileValues {
		for _, dir := range hostileValues {
			checkHostile(t, name, dir)
		}
	}
}

// TestHostileSteps holds that steps stay with their job.
func TestHostileSteps(t *testing.T) {
	held, problems := ParseHeld(sacctRows([3]string{"7", "a\nb", "/c\nd"}, [3]string{"7.batch", "batch", ""}, [3]string{"8", "e", "/e"}), historyDelimiter, time.UTC)
	if len(held) != 2 || len(problems) > 0 || len(held[0].Steps) != 1 || held[0].WorkDir != "/c\nd" {
		t.Errorf("%+v, %v", held, problems)
	}
	if !strings.HasSuffix(heldFields, rowEnd) || !strings.HasSuffix(historyFields, rowEnd) {
		t.Error("a row ends with what its user chooses")
	}
}

func FuzzHostileNames(f *testing.F) {
	for i, v := range hostileValues {
		f.Add(v, hostileValues[len(hostileValues)-1-i])
	}
	f.Fuzz(checkHostile)
}

// delimiterOf is what sacct is told to write between columns.
func delimiterOf(args []string) string { return option(args, "--delimiter=") }

func option(args []string, name string) string {
	for _, a := range args {
		if value, ok := strings.CutPrefix(a, name); ok {
			return value
		}
	}
	return ""
}

// accounting answers sacct with these jobs.
type accounting [][3]string

func (a accounting) Run(_ context.Context, _ string, args ...string) ([]byte, error) {
	return sacctTable(option(args, "--format="), delimiterOf(args), a...), nil
}

// checkForged holds that a job's name and directory make no row, and spoil none: what is told is what there is, in all that is
// asked of accounting.
func checkForged(t *testing.T, name, dir string) {
	t.Helper()
	c := Client{Runner: accounting{{"6", "a", "/a"}, {"7", name, dir}, {"7.batch", "batch", ""}, {"7.0", name, ""}, {"8", "b", "/b"}}, Location: time.UTC}
	runs, odd, err := c.History(t.Context(), Ever())
	if err != nil || len(odd) > 0 || len(runs) != 3 || runs[1].Name != strings.ToValidUTF8(name, "\uFFFD") || runs[2].WorkDir != "/b" {
		t.Errorf("name %q, directory %q: %+v, %v, %v", name, dir, runs, odd, err)
	}
	held, odd, err := c.Held(t.Context(), Ever())
	if err != nil || len(odd) > 0 || len(held) != 3 || len(held[1].Steps) != 2 || len(held[0].Steps)+len(held[2].Steps) > 0 {
		t.Errorf("name %q, directory %q: %+v, %v, %v", name, dir, held, odd, err)
	}
	steps, err := c.Steps(t.Context(), 7, time.Time{})
	if err != nil || len(steps) != 3 || steps[0].Name != "" || steps[1].Name != "batch" || steps[2].Name != "0" {
		t.Errorf("name %q, directory %q: %+v, %v", name, dir, steps, err)
	}
}

// forgedRows are whole rows of others, and what closes one's own, with the delimiter of another answer.
func forgedRows() (all []string) {
	for _, d := range []string{historyDelimiter, newDelimiter(), "|"} {
		for _, fields := range []string{historyFields, heldFields, stepFields} {
			rest := strings.Repeat(d, strings.Count(fields, ","))
			all = append(all, rest+"7\n8"+rest+"8", "\n8"+rest+"8\n", rest+"7\n7.1"+rest+"7.1\n7"+rest, string(sacctTable(fields, d, [3]string{"8", "x", "/x"})))
		}
	}
	return all
}

func TestForgedRows(t *testing.T) {
	for _, v := range append(forgedRows(), hostileValues...) {
		checkForged(t, v, "/a")
		checkForged(t, "a", v)
		checkForged(t, "a\n"+v+"\n", v)
	}
}

func FuzzForgedRows(f *testing.F) {
	for i, v := range hostileValues {
		f.Add(v, hostileValues[len(hostileValues)-1-i])
	}
	f.Fuzz(checkForged)
}
