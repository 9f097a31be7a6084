package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// table collects the options of several versions of Slurm.
type table struct {
	versions []string
	rows     map[string]*row
}

// row is an option with or without a value. The versions that have it are kept by
// program: --wait of srun needs a value, that of sbatch takes none.
type row struct {
	// name is the option's, alias the first name of the same setting.
	name, alias, letter, takes string
	sbatch, srun               []string
}

func newTable() *table { return &table{rows: map[string]*row{}} }

// versionOf returns "22.05" of slurm-22-05-8-1.
func versionOf(tag string) string {
	parts := strings.Split(tag, "-")
	return parts[1] + "." + parts[2]
}

var (
	definition = regexp.MustCompile(`(?ms)^static (?:const )?slurm_cli_opt_t slurm_opt_\w+ = \{\n(.*?)^\};`)
	field      = regexp.MustCompile(`(?m)^\s*\.(\w+)\s*=\s*([^,\n]+),`)
)

// fewestOptions is less than any version has.
const fewestOptions = 100

// add reads the options of one version.
func (t *table) add(version string, source []byte) error {
	found := definition.FindAllSubmatch(source, -1)
	if len(found) < fewestOptions {
		return fmt.Errorf("there are %d options, which is too few: their form has changed", len(found))
	}
	t.versions = append(t.versions, version)
	first := map[string]string{}
	for _, m := range found {
		fields := map[string]string{}
		for _, f := range field.FindAllSubmatch(m[1], -1) {
			if name := string(f[1]); fields[name] == "" { // of two, the one that is compiled in
				fields[name] = strings.TrimSpace(string(f[2]))
			}
		}
		if err := t.option(version, fields, first); err != nil {
			return err
		}
	}
	return nil
}

// option adds one version of an option. first are the names of settings so far.
func (t *table) option(version string, fields, first map[string]string) error {
	sbatch := fields["set_func"] + fields["set_func_sbatch"]
	srun := fields["set_func"] + fields["set_func_srun"]
	name := strings.Trim(fields["name"], `"`)
	if name == "" || name == "NULL" || sbatch+srun == "" {
		return nil
	}
	takes, ok := map[string]string{"no_argument": "-", "required_argument": "=", "optional_argument": "?"}[fields["has_arg"]]
	if !ok {
		return fmt.Errorf("option %s has an argument of the kind %q", name, fields["has_arg"])
	}
	r := t.rows[name+takes]
	if r == nil {
		r = &row{name: name, letter: "-", takes: takes}
		t.rows[name+takes] = r
	}
	if v := fields["val"]; strings.HasPrefix(v, "'") {
		r.letter = strings.Trim(v, "'")
	}
	if same := cmp.Or(sbatch, srun); first[same] == "" {
		first[same] = name
	} else {
		r.alias = first[same]
	}
	if sbatch != "" {
		r.sbatch = append(r.sbatch, version)
	}
	if srun != "" {
		r.srun = append(r.srun, version)
	}
	return nil
}

// spans writes versions as ranges: an option may go and come back.
func (t *table) spans(have []string) string {
	var spans []string
	for i := 0; i < len(t.versions); i++ {
		if !slices.Contains(have, t.versions[i]) {
			continue
		}
		first := t.versions[i]
		for i+1 < len(t.versions) && slices.Contains(have, t.versions[i+1]) {
			i++
		}
		spans = append(spans, first+".."+t.versions[i])
	}
	return cmp.Or(strings.Join(spans, ","), "-")
}

// text writes the table.
func (t *table) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Options of sbatch and srun, of Slurm %s: src/common/slurm_opt.c of its sources. Written by gen.\n", strings.Join(t.versions, ", "))
	fmt.Fprintln(&b, "# takes: - nothing, = a value, ? perhaps a value. The last two columns are the versions whose sbatch and srun have it.")
	fmt.Fprintln(&b, "# name\tsame as\tletter\ttakes\tsbatch\tsrun")
	for _, r := range slices.SortedFunc(maps.Values(t.rows), func(a, b *row) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.takes, b.takes)) }) {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", r.name, cmp.Or(r.alias, "-"), r.letter, r.takes, t.spans(r.sbatch), t.spans(r.srun))
	}
	return b.Bytes()
}
