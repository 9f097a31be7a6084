package job_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job"
)

// TestCurve_goes_on_where_it_was reads a file while it grows, is written anew, and is not there.
func TestCurve_goes_on_where_it_was(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	c := job.Curve{Path: path}
	steps := func(want ...int64) {
		t.Helper()
		if err := c.Look(); err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, s := range c.Samples {
			got = append(got, s.Step)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got steps %v, want %v", got, want)
		}
	}
	text := ""
	add := func(part string) {
		t.Helper()
		text += part
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	steps()
	add("Batch 1 Loss: 7.1, Speed: 1.2 samples/sec, lr: 0.1\nBatch 2 Loss: 7.")
	steps(1)
	add("0, Speed: 1.2 samples/sec, lr: 0.1\n")
	steps(1, 2)
	text = ""
	add("Batch 5 Loss: 6.1, Speed: 1.2 samples/sec, lr: 0.1\n")
	steps(5)
}

// TestCurve_of_a_file_that_was_written_anew: two runs do not mix, however far the second one is.
func TestCurve_of_a_file_that_was_written_anew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(from, to int) {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, "Batch %d Loss: 7.1, Speed: 1.2 samples/sec, lr: 0.1\n", i)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := job.Curve{Path: path}
	write(101, 105)
	if err := c.Look(); err != nil || len(c.Samples) != 5 {
		t.Fatal(c.Samples, err)
	}
	write(201, 220)
	if err := c.Look(); err != nil || len(c.Samples) != 20 || c.Samples[0].Step != 201 {
		t.Errorf("got %+v, %v", c.Samples, err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(201, 230)
	if err := c.Look(); err != nil || len(c.Samples) != 30 {
		t.Errorf("of another file: %d samples, %v", len(c.Samples), err)
	}
}

// TestCurve_reads_the_end_of_what_is_long holds that a look at a large file is a short one.
func TestCurve_reads_the_end_of_what_is_long(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	for i := range 60000 {
		fmt.Fprintf(&b, "Batch %d Loss: 7.1, Speed: 1.2 samples/sec, lr: 0.1\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := job.Curve{Path: path}
	if err := c.Look(); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Samples); n != 1000 || c.Samples[n-1].Step != 59999 {
		t.Errorf("got %d samples, the last one of step %d", n, c.Samples[n-1].Step)
	}
}

func TestLastLines(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"none":            {"", nil},
		"fewer":           {"a\n", []string{"a"}},
		"more":            {"a\nb\nc\n", []string{"b", "c"}},
		"not_ended":       {"a\nb\nc", []string{"b", "c"}},
		"a_bar":           {"10%\r20%\r30%\r\nx\r\n", []string{"30%", "x"}},
		"longer_than_all": {strings.Repeat("x", 100000) + "\nb\n", []string{"b"}},
		"long":            {strings.Repeat("y", 2000) + "\n", []string{strings.Repeat("y", 1000)}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := job.LastLines(path, os.Geteuid(), 2)
			if err != nil || !slices.Equal(got, row.want) {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
		})
	}
	if got, err := job.LastLines(filepath.Join(t.TempDir(), "none"), 0, 2); got != nil || err != nil {
		t.Errorf("of no file: got %q, %v", got, err)
	}
}
