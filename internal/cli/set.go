package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// setFlag adds --set, which fills in cluster files.
func setFlag(flags *pflag.FlagSet, into *[]string) {
	repeat(flags, into, "set", "fill ${NAME} in the cluster file, as `NAME=VALUE` (default: the environment's value); can be repeated")
}

var variableName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variables parses the values of --set. The environment has all others.
func variables(set []string) (*spec.Variables, error) {
	v := &spec.Variables{Set: map[string]string{}, Environment: os.LookupEnv}
	for _, text := range set {
		name, value, ok := strings.Cut(text, "=")
		_, twice := v.Set[name]
		switch {
		case !ok || !variableName().MatchString(name):
			return nil, fault.Usage(fmt.Errorf("--set %s: write NAME=VALUE", page.Printable(text)))
		case value == "":
			return nil, fault.Usage(fmt.Errorf("--set %s is empty: give it a value", name))
		case twice:
			return nil, fault.Usage(fmt.Errorf("--set gives %s two values", name))
		}
		v.Set[name] = value
	}
	return v, nil
}

// loadFilled reads a cluster file with its variables filled in.
func loadFilled(path string, v *spec.Variables) (*spec.Cluster, *diag.List) {
	list := &diag.List{}
	text, ok := spec.Read(path, list)
	if !ok {
		return nil, list
	}
	filled, problems := v.Fill(path, text)
	if !problems.HasErrors() {
		problems = spec.Template(path, filled, v.Set != nil)
	}
	if problems.HasErrors() {
		return nil, problems
	}
	cluster, more := spec.Parse(path, filled)
	problems.Append(more.All()...)
	return cluster, problems
}
