package lint_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

// releases are those of ParallelCluster that were asked for their schema alone,
// one for each level.
var releases = []string{"3.15.1", "3.14.2", "3.13.2", "3.12.0", "3.11.1"}

// TestLevelsAgreeWithParallelCluster holds muster at older levels to what the
// schema of their release says: it refuses a file at the same places, or has
// nothing of the schema's to say. Differences that the newest level has, too,
// are left to its test.
func TestLevelsAgreeWithParallelCluster(t *testing.T) {
	newest := verdicts(t, "3.16.1")
	files := map[string][]byte{}
	for _, c := range corpus(t, "*.txt") {
		data, err := c.document()
		if err != nil {
			t.Fatal(err)
		}
		files[c.String()] = data
	}
	known := atLevel(spec.Newest, files, newest)
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			level, err := spec.ParseLevel(release)
			if err != nil {
				t.Fatal(err)
			}
			said := verdicts(t, release)
			t.Logf("%d of %d files have another verdict than by the newest schema", len(said), len(files))
			for name, v := range newest {
				if _, other := said[name]; !other {
					said[name] = v
				}
			}
			for d := range atLevel(level, files, said) {
				if !known[d] {
					t.Errorf("%s: muster %s", d.name, d.what)
				}
			}
		})
	}
}

// atLevel are the differences of a level in what concerns the schema.
func atLevel(level spec.Level, files map[string][]byte, said map[string]verdict) map[disagreement]bool {
	found := map[disagreement]bool{}
	for name, data := range files {
		f := spec.OpenText("cluster.yaml", data, spec.Options{AWS: true, Level: level})
		lint.Cluster(f)
		for _, what := range ofSchema(said[name], musterSays{f.Problems.All()}) {
			found[disagreement{what: what, name: name}] = true
		}
	}
	return found
}

func ofSchema(v verdict, m musterSays) []string {
	if v.schemaRefuses() {
		return (oracle{}).schema(v, m)
	}
	var whats []string
	for _, d := range m.said {
		if d.Severity == diag.Error && strings.HasPrefix(d.Code, "schema/") {
			whats = append(whats, "adds ERROR "+d.Code)
		}
	}
	return whats
}
