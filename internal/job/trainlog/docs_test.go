package trainlog_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// TestPageIsRight holds docs/jobs.md to what the reader reads.
func TestPageIsRight(t *testing.T) {
	text, err := os.ReadFile("../../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, ok := strings.Cut(string(text), "\n## What muster reads in logs\n")
	page, _, _ = strings.Cut(page, "\n## ")
	lines := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(page)
	if !ok || lines == nil {
		t.Fatal("the page has no lines of logs")
	}
	var formats []string
	for line := range strings.Lines(lines[1]) {
		found := read(line).Samples
		if len(found) != 1 {
			t.Errorf("%q says %+v", line, found)
			continue
		}
		formats = append(formats, string(found[0].Format))
	}
	if got, want := strings.Join(slices.Compact(formats), " "), "fsdp torchtitan deepspeed huggingface lightning tqdm nemo megatron"; got != want {
		t.Errorf("the page has lines of %s, want %s", got, want)
	}

	_, other, _ := strings.Cut(page, "\n### Lines of other programs\n")
	others := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(other)
	if others == nil {
		t.Fatal("the page has no lines of other programs")
	}
	for line := range strings.Lines(others[1]) {
		log := line + strings.Replace(line, "40", "41", 1) + strings.Replace(line, "40", "42", 1)
		if found := read(log).Samples; len(found) != 3 || found[2].Step != 42 || found[2].Format != trainlog.General || found[2].Loss != some(1.2439) {
			t.Errorf("%q says %+v", log, found)
		}
	}

	var groups []string
	_, table, _ := strings.Cut(page, "| group | holds |")
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(table, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			groups = append(groups, strings.Trim(name, "`"))
		}
	}
	if want := trainlog.GroupNames(); !slices.Equal(groups, want) {
		t.Errorf("the page has groups %q, want %q", groups, want)
	}

	patterns := regexp.MustCompile("(?m)^#MUSTER --log-pattern='(.*)'$").FindAllStringSubmatch(page, -1)
	for _, p := range patterns {
		compiled(t, p[1])
	}
	if len(patterns) == 0 {
		t.Error("the page has no pattern")
	}
}
