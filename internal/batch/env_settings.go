package batch

import (
	"slices"
	"strings"
)

// environment are the variables that programs see, however they are given: by
// export, A=1 command, env, srun --export, #SBATCH --export, mpirun -x and the
// -e of container engines.
func (s *script) environment() []*variable {
	var all []*variable
	for _, v := range s.variables {
		if v.exported {
			all = append(all, v)
		}
	}
	for _, c := range s.commands {
		all = append(all, c.passed()...)
	}
	for i, v := range all {
		if name := outside(v.name); name != v.name {
			inside := *v
			inside.name = name
			all[i] = &inside
		}
	}
	return all
}

// outside is a variable's name in the container for which it is meant.
func outside(name string) string {
	for _, prefix := range []string{"APPTAINERENV_", "SINGULARITYENV_"} {
		if rest := strings.TrimPrefix(name, prefix); isName(rest) {
			name = rest
		}
	}
	return name
}

// passing are the options that give a program's children a variable as
// NAME=VALUE.
var passing = map[string][]string{
	"mpirun": {"-x"}, "mpiexec": {"-x"}, "orterun": {"-x"}, "prterun": {"-x"},
	"docker": {"-e", "--env"}, "podman": {"-e", "--env"}, "nerdctl": {"-e", "--env"}, "enroot": {"-e", "--env"},
	"apptainer": {"--env"}, "singularity": {"--env"},
}

// hydra are the options of other mpiexecs, which take NAME VALUE.
var hydra = []string{"-genv", "-env", "--genv", "--env"}

// passed are the variables that a command gives, by its own options, to the commands
// that it runs.
func (c *command) passed() []*variable {
	flags, known := passing[c.name]
	if !known {
		return nil
	}
	var all []*variable
	args := c.args()
	for i, a := range args {
		if slices.Contains(hydra, a.text) && strings.HasPrefix(c.name, "mpi") && i+2 < len(args) && isName(args[i+1].text) {
			value := args[i+2]
			all = append(all, c.passes(args[i+1], args[i+1].text, value.text, value.raw))
			continue
		}
		text, has := optionValue(args, i, flags)
		if !has {
			continue
		}
		for item := range strings.SplitSeq(text.text, ",") {
			if name, value, ok := strings.Cut(item, "="); ok && isName(name) {
				all = append(all, c.passes(text, name, value, text.raw))
			}
		}
	}
	return all
}

func (c *command) passes(at word, name, text, raw string) *variable {
	inside := c.context
	inside.outer = c
	return &variable{
		name: name, value: value{text: text, assumed: at.assumed}, context: inside,
		Place: at.Place, raw: raw, exported: true, scope: c,
	}
}

// optionValue is the value of an option at a position: -x V, -xV, --env V or
// --env=V. It stands where the option or, if it is a word of its own, the value is.
func optionValue(args []word, i int, flags []string) (word, bool) {
	for _, f := range flags {
		rest, found := strings.CutPrefix(args[i].text, f)
		if !found {
			continue
		}
		at := args[i]
		switch {
		case rest == "" && i+1 < len(args):
			return args[i+1], true
		case strings.HasPrefix(f, "--") && strings.HasPrefix(rest, "="):
			at.text = rest[1:]
			return at, true
		case !strings.HasPrefix(f, "--") && isAssignment(rest):
			at.text = rest
			return at, true
		}
	}
	return word{}, false
}
