package batch_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
)

var (
	corpus     = flag.String("corpus", "", "check all batch scripts below `DIR` instead of the tests' own")
	corpusShow = flag.String("corpus-show", "", "print each problem of this `CODE` or severity")
)

// TestCorpus checks many scripts, which must end without a panic, and counts what is
// reported, with -v. testdata/README.md has the counts of public scripts.
//
//	go test ./internal/batch -run TestCorpus -v -args -corpus DIR -corpus-show script/mount
func TestCorpus(t *testing.T) {
	scripts := corpusScripts(t)
	if len(scripts) == 0 {
		t.Fatal("there are no scripts")
	}
	facts := factsOfFile(t, "testdata/reported/cluster.yaml")
	codes, files, broken := map[string]int{}, map[string]int{}, 0
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		seen := map[string]bool{}
		for _, d := range checked(t, name, scripts[name], facts) {
			key := d.Severity.String() + " " + d.Code
			codes[key]++
			if !seen[key] {
				files[key]++
			}
			seen[key] = true
			if *corpusShow != "" && (d.Code == *corpusShow || d.Severity.String() == *corpusShow) {
				t.Logf("%s:%d: %s %s: %s\n      %s", name, d.Line, d.Severity, d.Code, d.Message, strings.TrimSpace(d.Source))
			}
		}
		if seen["error script/syntax"] || seen["blind script/unread"] {
			broken++
		}
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(codes)) {
		fmt.Fprintf(&b, "%-40s %5d in %d scripts\n", key, codes[key], files[key])
	}
	t.Logf("%d scripts, %d not read to their end\n%s", len(scripts), broken, b.String())
}

// checked is what is reported about a script, with a cluster's facts and without.
func checked(t *testing.T, name string, text []byte, facts *batch.Facts) []diag.Diagnostic {
	t.Helper()
	defer func() {
		if failure := recover(); failure != nil {
			t.Errorf("%s: %v", name, failure)
		}
	}()
	batch.Check(name, text, nil, nil)
	batch.Things(name, text, nil)
	return batch.Check(name, text, nil, facts).All()
}

// corpusScripts are the scripts below -corpus that have #SBATCH lines, by their names, or
// those of the rules.
func corpusScripts(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	if *corpus == "" {
		for _, path := range archives(t) {
			for _, f := range archive(t, path).Files {
				if strings.HasSuffix(f.Name, ".sbatch") {
					all[codeOf(path)+"/"+f.Name] = f.Data
				}
			}
		}
		return all
	}
	err := filepath.WalkDir(*corpus, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".sbatch", ".slurm", ".sh", ".bash", ".job", ".sub"}, filepath.Ext(path)) {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "#SBATCH") {
			name, _ := filepath.Rel(*corpus, path)
			all[name] = data
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
