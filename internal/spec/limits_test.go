package spec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/growth"
	"github.com/muster-hpc/muster/test/soak"
)

// large is a valid file of about n lines.
func large(t testing.TB, n int) string {
	head, tail, _ := strings.Cut(base(t), "    - Name: gpu\n")
	var b strings.Builder
	b.WriteString(head)
	for i := range n / 12 {
		fmt.Fprintf(&b, `    - Name: queue-%d
      CapacityType: ONDEMAND
      Networking:
        SubnetIds:
          - subnet-0123456789abcdef0
      ComputeResources:
        - Name: nodes
          InstanceType: p5e.48xlarge
          MinCount: 0
          MaxCount: 8
          Efa:
            Enabled: true
`, i)
	}
	return b.String() + "    - Name: gpu\n" + tail
}

// TestParse_grows_with_the_file holds that ten times the lines cost about ten times the work, on any machine and
// under the race detector. How long that is, the benchmark says.
func TestParse_grows_with_the_file(t *testing.T) {
	small, big := parsing(t, 1_000), parsing(t, 10_000)
	t.Logf("1,000 lines in %v, 10,000 in %v", small, big)
	if big > 40*small {
		t.Errorf("10,000 lines cost %v, 1,000 cost %v", big, small)
	}
}

// parsing is the least of several rounds' work of reading a file of about n lines.
func parsing(t *testing.T, n int) time.Duration {
	t.Helper()
	data := []byte(large(t, n))
	best := time.Hour
	for range 5 {
		start := growth.Busy(t)
		c, problems := spec.Parse("cluster.yaml", data)
		best = min(best, growth.Busy(t)-start)
		if c == nil || len(c.Scheduling.Queues) < n/15 {
			t.Fatal(text(t, problems))
		}
	}
	return best
}

// BenchmarkCheck measures what check does in-process, without the rules of lint:
// the file of 80 nodes, and one of 10,000 lines.
func BenchmarkCheck(b *testing.B) {
	for _, row := range []struct{ name, data string }{
		{"nodes=80", read(b, "../../examples/guide-80/cluster.yaml")},
		{"lines=10000", large(b, 10_000)},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				spec.OpenText("cluster.yaml", []byte(row.data), spec.Options{AWS: true})
			}
		})
	}
}

// TestParse_of_bombs feeds files that are made to take long, as small ones.
func TestParse_of_bombs(t *testing.T) { parsesBombs(t, 50, time.Hour) }

// TestSoak_parse_is_never_slow feeds large ones. The limit is far above what they take, and that of an ordinary file is the measure of it.
func TestSoak_parse_is_never_slow(t *testing.T) {
	soak.Only(t, "it measures; TestParse_of_bombs parses the same, smaller")
	parsesBombs(t, 1, 500*parsing(t, 10_000))
}

// parsesBombs parses files that are made to take long, each a part of what it may be. They must come back with errors, and within the limit.
func parsesBombs(t *testing.T, part int, limit time.Duration) {
	bomb := "a0: &a0 [x, x]\n"
	for i := range 40 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	merges := "m0: &m0 {" + numbered("k%d: 1, ", 2000) + "}\nm1:\n  <<: [" + strings.Repeat("*m0, ", 100_000/part) + "]\n"
	fan := "Tags: &t [" + strings.Repeat("{Key: k, Value: v}, ", 1000) + "]\nScheduling:\n  Scheduler: slurm\n  SlurmQueues: &q\n" +
		"    - &e {Name: q, Tags: *t, ComputeResources: [{Name: r, InstanceType: c6i.large, Tags: *t}]}\n" +
		strings.Repeat("    - *e\n", 100_000/part)
	for _, row := range []struct{ name, data string }{
		{"alias_bomb", bomb},
		{"alias_bomb_in_the_schema", fan},
		{"merge_bomb", merges},
		{"unknown_keys", numbered("Instancetype%d: x\n", 100_000/part)},
		{"long_unknown_key", strings.Repeat("k", 3_000_000/part) + ": x\n"},
		{"duplicate_keys", strings.Repeat("Region: x\n", 200_000/part)},
		{"wrong_items", "SharedStorage: [" + strings.Repeat("x,", 300_000/part) + "]"},
		{"duplicate_queues", "Scheduling:\n  SlurmQueues:\n" + strings.Repeat("  - {Name: q}\n", 100_000/part)},
		{"many_mounts", "SharedStorage:\n" + numbered("  - {Name: n%[1]d, MountDir: /m%[1]d/x, StorageType: Efs}\n", 50_000/part)},
		{"one_long_line", "Region: [" + strings.Repeat("a ", 2_000_000/part)},
		{"nested_maps", strings.Repeat("{a: ", 9_999) + strings.Repeat("}", 9_999)},
		{"nested_lists", strings.Repeat("- ", 9_999) + "x"},
		{"question_marks", strings.Repeat("? ", 100_000/part)},
		{"blank_lines", strings.Repeat("\n", 4_000_000/part) + "\t"},
		{"tabs", "Tags:\n" + strings.Repeat("- {Key:\t'a'}\n", 100_000/part)},
		{"tabs_in_one_line", "Tags: [" + strings.Repeat("{Key: 'a\t',\tValue: b}, ", 100_000/part) + "]"},
		{"tabs_in_blocks", "Tags:\n" + strings.Repeat("- Key: |\n\n\n    a\tb\n", 50_000/part)},
		{"misplaced_keys", "Scheduling:\n  SlurmQueues:\n" + numbered("  - {Name: q%d, SubnetIds: [a], MaxCount: 3}\n", 20_000/part)},
		{"fixes_in_one_line", "Regoin: x\nTags: [" + strings.Repeat("{Key: \"a\", Value: 1}, ", 100_000/part) + "]"},
		{"ini_like", strings.Repeat("#\n \t", 1_000_000/part) + "[global]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			start := growth.Busy(t)
			_, problems := spec.Parse("cluster.yaml", []byte(row.data))
			aws := spec.OpenText("cluster.yaml", []byte(row.data), spec.Options{AWS: true}).Problems
			took := growth.Busy(t) - start
			if !aws.HasErrors() || aws.Len() > 500 {
				t.Errorf("for AWS there are %d problems", aws.Len())
			}
			t.Logf("%d bytes, %d problems in %v", len(row.data), problems.Len(), took)
			if !problems.HasErrors() {
				t.Error("accepted")
			}
			if problems.Len() > 300 || took > limit {
				t.Errorf("%d problems in %v", problems.Len(), took)
			}
			for _, d := range problems.All() {
				if len(d.Message)+len(d.Hint)+len(d.Path)+len(d.Source) > 16<<10 {
					t.Fatalf("a diagnostic of %d bytes", len(d.Message)+len(d.Hint)+len(d.Path)+len(d.Source))
				}
			}
		})
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestParse_says_that_problems_are_left_out holds that a flood of problems is
// cut, and still refused.
func TestParse_says_that_problems_are_left_out(t *testing.T) {
	_, problems := spec.Parse("cluster.yaml", []byte(numbered("Key%d: 1\n", 1000)))
	if !problems.HasErrors() || problems.Count(diag.Error) != 200 {
		t.Errorf("%d errors, want 200", problems.Count(diag.Error))
	}
	if !strings.Contains(text(t, problems), "further problems are not shown") {
		t.Error("nothing says that problems are left out")
	}
}
