package batch

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirectives(t *testing.T) {
	const script = `#!/bin/bash
#SBATCH --nodes=4
# a comment
#SBATCH -N8 --gres gpu:2 -c 3	--mem="4 G" # --nodes=9
  #SBATCH --nodes=5
#SBATCH--nodes=6
##SBATCH --nodes=7

#SBATCH --job-name "two words" --unknown x --ntasks-per-node=2
#SBATCH --nodes
echo
#SBATCH --nodes=10
`
	type d struct {
		name, value  string
		line, column int
	}
	want := []d{
		{"nodes", "4", 2, 9}, {"nodes", "8", 4, 9}, {"gres", "gpu:2", 4, 13}, {"cpus-per-task", "3", 4, 26}, {"mem", "4 G", 4, 31},
		{"nodes", "6", 6, 8}, {"job-name", "two words", 9, 9}, {"unknown", "", 9, 32}, {"ntasks-per-node", "2", 9, 44}, {"nodes", "", 10, 9},
	}
	var got []d
	for _, x := range Directives([]byte(script)) {
		got = append(got, d{x.Name, x.Value, x.Place.Line, x.Place.Column})
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(d{})); diff != "" {
		t.Error(diff)
	}
	if got := Directives([]byte("#!/bin/sh\n#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -N 4\n")); got != nil {
		t.Errorf("got %v of a job of two parts", got)
	}
}

func TestFlags(t *testing.T) {
	want := []string{"--nodes=2", "--comment=a b", "-c", "3"}
	if diff := cmp.Diff(want, Flags([]string{"--nodes=2 --comment='a b'", "-c 3", ""})); diff != "" {
		t.Error(diff)
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]int{"4": 4, "4-8": 4, "2k": 2048, "": 0, "x": 0, "-3": 0, "99999999": 0} {
		if got := nodeCount(text); got != want {
			t.Errorf("nodeCount(%q) = %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"4000": 4000, "4000M": 4000, "1025K": 2, "64G": 64 << 10, "2TB": 2 << 20, "0": 0, "5%": 0, "": 0} {
		if got := memoryMiB(text); got != want {
			t.Errorf("memoryMiB(%q) = %d, want %d", text, got, want)
		}
	}
	type gpus struct {
		kind string
		n    int
		ok   bool
	}
	for text, want := range map[string]gpus{
		"gpu": {"", 1, true}, "gpu:8": {"", 8, true}, "gpu:h200:8": {"h200", 8, true}, "gpu:h200": {"h200", 1, true},
		"gres:gpu:2": {"", 2, true}, "nvme:1,gpu:2": {"", 2, true}, "gpu:h200:8(S:0-1)": {"h200", 8, true},
		"nvme:1": {}, "": {}, "gpu:0": {}, "gpu:h200:x": {}, "gpu:a:b:1": {}, "none": {},
	} {
		kind, n, ok := gres(text)
		if got := (gpus{kind, n, ok}); got != want {
			t.Errorf("gres(%q) = %+v, want %+v", text, got, want)
		}
	}
}

// TestOptionTable holds the table to what sbatch and srun of Slurm 22.05 print of
// themselves, and has each version's own options.
func TestOptionTable(t *testing.T) {
	old := Versions{First: "22.05", Last: "22.05"}
	for file, table := range map[string]*optionTable{"sbatch-help.txt": sbatchOptions(), "srun-help.txt": srunOptions()} {
		data, err := os.ReadFile("testdata/slurm-22.05.8/" + file)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, m := range helpLine.FindAllStringSubmatch(string(data), -1) {
			letter, name, value := m[1], m[2], m[3]
			o := table.names[name]
			seen++
			switch {
			case o == nil || !o.in(old):
				t.Errorf("%s: --%s is not in the table", file, name)
			case letter != "" && table.letters[letter[0]] != o:
				t.Errorf("%s: -%s is not --%s", file, letter, name)
			case strings.HasPrefix(value, "=") != (o.takes == required) && !loose[name]:
				t.Errorf("%s: --%s%s takes %d", file, name, value, o.takes)
			}
		}
		if seen < 80 {
			t.Errorf("%s has %d options", file, seen)
		}
	}
	for name, want := range map[string]string{
		"segment": "24.05 24.11 25.05 25.11", "export-file": "22.05 23.02 24.05 24.11 25.05 25.11", "power": "22.05 23.02 23.11", "nodes": strings.Join(slurmVersions(), " "),
		"workdir": "", "x11": "", "cluster": strings.Join(slurmVersions(), " "), "consolidate-segments": "25.11",
	} {
		var got []string
		for _, v := range slurmVersions() {
			if o := sbatchOptions().names[name]; o != nil && o.in(Versions{First: v, Last: v}) {
				got = append(got, v)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("--%s: %s", name, diff)
		}
	}
	if o := sbatchOptions().names["cluster"]; o != sbatchOptions().names["clusters"] {
		t.Error("--cluster is not --clusters")
	}
}

// TestOptionTable_of_each_version holds the table to what the help of each version of Slurm names.
func TestOptionTable_of_each_version(t *testing.T) {
	data, err := os.ReadFile("testdata/help.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]*optionTable{"sbatch": sbatchOptions(), "srun": srunOptions()}
	seen := 0
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		letter, name, form := cells[1], cells[2], cells[3]
		o := tables[cells[0]].names[name]
		for _, v := range strings.Fields(cells[4]) {
			seen++
			switch {
			case name == "power" && v >= "24.05": // srun's help names it, and srun refuses it: src/common/slurm_opt.c has it no more
			case o == nil || !o.in(Versions{First: v, Last: v}):
				t.Errorf("%s %s: --%s is not in the table", cells[0], v, name)
			case letter != "-" && tables[cells[0]].letters[letter[0]] != o:
				t.Errorf("%s %s: -%s is not --%s", cells[0], v, letter, name)
			case (form == "=") != (o.takes == required) && !loose[name]:
				t.Errorf("%s %s: --%s takes %d, and its help says %s", cells[0], v, name, o.takes, form)
			}
		}
	}
	if seen < 1400 {
		t.Errorf("there are %d options", seen)
	}
}

// helpLine is an option in the help: "  -c, --cpus-per-task=ncpus   number of cpus".
var helpLine = regexp.MustCompile(`(?m)^ {2}(?:(?:-(\w),| {3}) )--([a-z][a-z0-9-]*)(\S*)`)

// loose are options whose help says of their value other than getopt is told.
var loose = map[string]bool{"container": true, "container-id": true, "export": true, "bcast": true, "wrap": true}

func TestVersions(t *testing.T) {
	for name, want := range map[string]Versions{
		"22.05.8": {"22.05", "22.05"}, "23.11.10 25.11.7 24.05.1": {"23.11", "25.11"}, "": {}, "unknown 24.05.0-rc1": {"24.05", "24.05"}, "4.1": {},
	} {
		if got := versionsOf(strings.Fields(name)); got != want {
			t.Errorf("versions of %q are %v, want %v", name, got, want)
		}
	}
	for _, row := range []struct {
		v    Versions
		want bool
	}{{Versions{}, true}, {Versions{"22.05", "22.05"}, false}, {Versions{"23.11", "25.11"}, true}, {Versions{"26.05", "26.05"}, true}, {Versions{"20.11", "21.08"}, false}} {
		if got := sbatchOptions().names["segment"].in(row.v); got != row.want {
			t.Errorf("--segment in %v: %v", row.v, got)
		}
	}
}

// TestSplitWords cuts lines as sbatch 22.05.8 does, which was asked about each.
func TestSplitWords(t *testing.T) {
	for line, want := range map[string]string{
		" -N 2  # x": "-N|2", "--time=5#x --mem=1": "--time=5", `--nodes=1 "" --time=5h`: "--nodes=1", ` -J "a b" c`: "-J|a b|c", "--comment='a\\'b'": "--comment=a'b",
		" :": "!a word begins with a colon", "--job-name=foo's": "!the quotation mark ' is not closed", "ES -n": "ES|-n", "a:b": "a:b",
	} {
		words, fault := splitWords(line)
		var texts []string
		for _, w := range words {
			texts = append(texts, w.text)
		}
		got := strings.Join(texts, "|")
		if fault != "" {
			got += "!" + fault
		}
		if got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}
