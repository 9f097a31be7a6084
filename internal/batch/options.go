package batch

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

// takes says what stands behind an option's name.
type takes int

const (
	// nothing; a value that must be there; one behind = that may be.
	nothing takes = iota
	required
	optional
)

// option is what is known of an option of sbatch's or srun's.
type option struct {
	name   string
	letter byte
	takes  takes
	// versions are those of Slurm that have it; nil for an option of a plugin.
	versions []Versions
	// bare are those that take no value where others do.
	bare []Versions
}

// optionTable are the options of a program.
type optionTable struct {
	names   map[string]*option
	letters map[byte]*option
}

// find finds an option by its name or by a beginning that no other has, as
// getopt does. Where a beginning was an option's alone in one version only, the
// newest such version decides.
func (t *optionTable) find(name string) *option {
	if o := t.names[name]; o != nil || name == "" {
		return o
	}
	var begun []*option
	for full, o := range t.names {
		if strings.HasPrefix(full, name) && !slices.Contains(begun, o) {
			begun = append(begun, o)
		}
	}
	if len(begun) == 1 {
		return begun[0]
	}
	for _, v := range slices.Backward(slurmVersions()) {
		var alone *option
		n := 0
		for _, o := range begun {
			if o.in(Versions{First: v, Last: v}) {
				alone = o
				n++
			}
		}
		if n == 1 {
			return alone
		}
	}
	return nil
}

// sorted are the names of options.
func (t *optionTable) sorted() []string { return slices.Sorted(maps.Keys(t.names)) }

// optionRows is the table of Slurm's own options, which gen writes.
//
//go:embed options.tsv
var optionRows string

// pluginOptions are those of Pyxis and of our own plugin, of both sbatch and srun: = is
// behind a name that needs a value.
const pluginOptions = `
container-image= container-mounts= container-workdir= container-name= container-save= container-mount-home no-container-mount-home
container-remap-root no-container-remap-root container-entrypoint no-container-entrypoint container-entrypoint-log
container-writable container-readonly container-env=
`

// The columns of the table's last two.
const (
	sbatchColumn = 4
	srunColumn   = 5
)

// The tables are made when they are first needed.
var (
	sbatchOptions = sync.OnceValue(func() *optionTable { return newOptionTable(sbatchColumn) })
	srunOptions   = sync.OnceValue(func() *optionTable { return newOptionTable(srunColumn) })
)

// optionFields are the rows of the table, without its comments.
func optionFields() [][]string {
	var all [][]string
	for line := range strings.Lines(optionRows) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	return all
}

func newOptionTable(column int) *optionTable {
	t := &optionTable{names: map[string]*option{}, letters: map[byte]*option{}}
	same := map[string]string{}
	for _, row := range optionFields() {
		name, as, letter, value, have := row[0], row[1], row[2], row[3], spansIn(row[column])
		if len(have) == 0 {
			continue
		}
		o := &option{name: name, versions: have, takes: map[string]takes{"-": nothing, "=": required, "?": optional}[value]}
		if other := t.names[name]; other != nil { // one version takes what another does not
			o.bare = slices.Concat(o.withoutValue(), other.withoutValue())
			o.takes, o.versions = optional, append(have, other.versions...)
		}
		t.names[name] = o
		if as != "-" {
			same[name] = as
		}
		if letter != "-" {
			o.letter = letter[0]
			t.letters[o.letter] = o
		}
	}
	for name, as := range same {
		t.names[name] = t.names[as]
	}
	for name := range strings.FieldsSeq(pluginOptions) {
		o := &option{name: strings.TrimSuffix(name, "=")}
		if o.name != name {
			o.takes = required
		}
		t.names[o.name] = o
	}
	return t
}

// withoutValue are the versions of an option that takes no value.
func (o *option) withoutValue() []Versions {
	if o.takes == nothing {
		return o.versions
	}
	return nil
}
