package batch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// archive reads testdata/rules/CODE.txtar, which is about the code script/CODE.
// Its scripts bad*.sbatch have the problem, good*.sbatch do not; golden holds
// what users read about it. cluster.yaml is what they are checked against, if it
// is not testdata/cluster.yaml; with "no cluster" above all files, nothing is
// known of a cluster. With "was asked" there, the cluster told what it has, with
// "Slurm 22.05 to 23.02" it has one of these versions; and with "lacking: A, B" it was looked for what a script needs, and these things were missing.
func archive(t *testing.T, path string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func codeOf(path string) string { return "script/" + strings.TrimSuffix(filepath.Base(path), ".txtar") }

// factsFor are what the scripts of an archive are checked against.
func factsFor(t *testing.T, a *txtar.Archive) *batch.Facts {
	t.Helper()
	if strings.Contains(string(a.Comment), "no cluster") {
		return nil
	}
	for _, f := range a.Files {
		if f.Name == "cluster.yaml" {
			return factsIn(t, f.Data)
		}
	}
	facts := factsOfFile(t, "testdata/cluster.yaml")
	if m := slurmComment.FindStringSubmatch(string(a.Comment)); m != nil {
		facts.Slurm = batch.Versions{First: m[1], Last: m[1]}
		if m[2] != "" {
			facts.Slurm.Last = m[2]
		}
	}
	if strings.Contains(string(a.Comment), "was asked") {
		facts.Asked = asked("associations,qos")
		if strings.Contains(string(a.Comment), "enforces nothing") {
			facts.Asked = asked("none")
		}
	}
	return facts
}

var slurmComment = regexp.MustCompile(`(?m)^Slurm (\d\d\.\d\d)(?: to (\d\d\.\d\d))?$`)

// lackingOf are facts with what is missing of one script's needs.
func lackingOf(a *txtar.Archive, f txtar.File, facts *batch.Facts) *batch.Facts {
	_, list, ok := strings.Cut(string(a.Comment), "lacking: ")
	if !ok {
		return facts
	}
	list, _, _ = strings.Cut(list, "\n")
	with := *facts
	with.Lacking, with.Rehearsal = batch.Lacking{}, true
	for _, t := range batch.Things(f.Name, f.Data, nil) {
		with.Lacking[t] = slices.Contains(strings.Split(list, ", "), t.Name)
	}
	return &with
}

// asked is what a cluster told that holds jobs to some things of its database.
func asked(enforce string) *batch.Asked {
	return &batch.Asked{
		Reservations: []string{"maint"}, Licenses: map[string]int{"matlab": 2, "idl": 1}, Accounts: []string{"research"}, Qualities: []string{"normal"},
		Clusters: []string{"here"}, Jobs: []string{"12", "13", "14"}, Conf: map[string]string{"AccountingStorageEnforce": enforce, "TopologyPlugin": "topology/none", "TrackWCKey": "No"},
	}
}

func factsOfFile(t *testing.T, path string) *batch.Facts {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return factsIn(t, data)
}

func factsIn(t testing.TB, data []byte) *batch.Facts {
	t.Helper()
	cluster, problems := spec.Parse("cluster.yaml", data)
	if cluster == nil {
		t.Fatal(problems)
	}
	return batch.FactsOf(cluster)
}

// TestRules holds every rule to its scripts: what it reports, where, and in
// which words, and what it does not report.
func TestRules(t *testing.T) {
	for _, path := range archives(t) {
		t.Run(codeOf(path), func(t *testing.T) {
			a := archive(t, path)
			facts := factsFor(t, a)
			said := ""
			for _, f := range a.Files {
				if strings.HasSuffix(f.Name, ".sbatch") {
					said += found(t, f, codeOf(path), lackingOf(a, f, facts))
				}
			}
			compare(t, path, a, said)
		})
	}
}

func archives(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no scripts", err)
	}
	return paths
}

// found is what users read about one script and one code.
func found(t *testing.T, f txtar.File, code string, facts *batch.Facts) string {
	t.Helper()
	var list diag.List
	all := batch.Check(f.Name, f.Data, nil, facts).All()
	for _, d := range all {
		if d.Code == code {
			list.Append(d)
		}
	}
	if bad := strings.HasPrefix(f.Name, "bad"); bad != (list.Len() > 0) {
		t.Errorf("%s has %d problems %s; all its problems:", f.Name, list.Len(), code)
		for _, d := range all {
			t.Logf("  %d:%d %s %s: %s", d.Line, d.Column, d.Severity, d.Code, d.Message)
		}
	}
	var b strings.Builder
	if err := diag.WriteText(&b, &list, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// compare compares with the file "golden" of an archive, or writes it.
func compare(t *testing.T, path string, a *txtar.Archive, got string) {
	t.Helper()
	i := -1
	for n, f := range a.Files {
		if f.Name == "golden" {
			i = n
		}
	}
	if i < 0 {
		a.Files = append(a.Files, txtar.File{Name: "golden"})
		i = len(a.Files) - 1
	}
	if golden.Updating() {
		a.Files[i].Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(a.Files[i].Data), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

var codeLiteral = regexp.MustCompile(`"(script/[a-z0-9-]+)"`)

// TestEveryCodeHasScripts finds the codes in the sources.
func TestEveryCodeHasScripts(t *testing.T) {
	have := map[string]string{}
	for _, path := range archives(t) {
		for _, f := range archive(t, path).Files {
			have[codeOf(path)] += f.Name + " "
		}
	}
	sources, _ := filepath.Glob("*.go")
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeLiteral.FindAllStringSubmatch(string(source), -1) {
			for _, kind := range []string{"bad", "good"} {
				if !strings.Contains(" "+have[m[1]], " "+kind) {
					t.Errorf("%s: %s needs a %s script in testdata/rules/%s.txtar", path, m[1], kind, strings.TrimPrefix(m[1], "script/"))
				}
			}
		}
	}
}

// said is what users read about a script, in one text.
func said(t *testing.T, list *diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteText(&b, list, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestValues_are_known_or_not(t *testing.T) {
	const script = "#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=2\n%s\n"
	for name, line := range map[string]string{
		"literal":      "D=/fsx4; ls $D/x",
		"default":      "ls ${D:-/fsx4/x}",
		"concatenated": `A=fsx; B=4; ls "/$A$B"/x`,
		"arithmetic":   "ls /fsx$((2 + SLURM_NNODES / 2))",
	} {
		text := said(t, batch.Check("s", fmt.Appendf(nil, script, line), nil, factsOfFile(t, "testdata/cluster.yaml")))
		if !strings.Contains(text, "/fsx4") {
			t.Errorf("%s: %s is not seen through:\n%s", name, line, text)
		}
	}
	for name, line := range map[string]string{
		"environment": "ls $D/x",
		"command":     "D=$(pick); ls $D/x",
		"branch":      "D=/fsx1; if ready; then D=$1; fi; ls $D/x",
		"loop":        "D=/fsx1; for i in 1 2; do ls $D/x; D=$i; done",
		"read":        "D=/fsx1; read D; ls $D/x",
		"function":    "set_d() { D=$1; }; D=/fsx1; set_d /fsx2; ls $D/x",
	} {
		text := said(t, batch.Check("s", fmt.Appendf(nil, script, line), nil, factsOfFile(t, "testdata/cluster.yaml")))
		if strings.Contains(text, "script/mount") {
			t.Errorf("%s: %s is taken for known:\n%s", name, line, text)
		}
	}
}
