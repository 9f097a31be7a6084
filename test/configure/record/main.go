// Command record writes down what ParallelCluster does to a machine of a cluster, from
// its own sources: which resources the configure phase of its cookbook declares, or which
// lines its user data has. Names, kinds and places are written, nothing else.
//
//	go run ./test/configure/record cookbook DIR COMMIT >test/configure/testdata/cookbook.tsv
//	go run ./test/configure/record userdata DIR >test/configure/testdata/userdata.tsv
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "cookbook":
		w := newWalk(args[1])
		for _, phase := range []string{"init", "config", "finalize"} {
			w.recipe("aws-parallelcluster-entrypoints::" + phase)
		}
		if w.err != nil {
			return w.err
		}
		return print("# aws/aws-parallelcluster-cookbook at "+args[2]+": what entrypoints::init, ::config and ::finalize reach.", w.found)
	case len(args) == 2 && args[0] == "userdata":
		found, err := userData(filepath.Join(args[1], "resources"))
		if err != nil {
			return err
		}
		settings, err := dna(filepath.Join(args[1], "templates"))
		if err != nil {
			return err
		}
		return print("# aws-parallelcluster 3.16.1, resources/*/user_data.sh and the dna.json of templates/*.py.", append(found, settings...))
	}
	return fmt.Errorf("want cookbook DIR COMMIT, or userdata DIR")
}

// item is one thing that is done to a machine.
type item struct {
	// place is a recipe, a resource's action or a template; kind is Chef's.
	place, kind, name string
	// detail is what a mount's options, a sysctl's value or a service's actions are, guard
	// the conditions, as far as they are about the cluster.
	detail, guard string
}

func (i item) line() string {
	return strings.Join([]string{i.place, i.kind, i.name, i.detail, i.guard}, "\t")
}

func print(title string, all []item) error {
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "%s\n# Facts only, written by test/configure/record: place, kind, name, detail, condition.\n", title)
	var before []string
	for _, i := range all {
		if line := i.line(); !slices.Contains(before, line) {
			before = append(before, line)
			fmt.Fprintln(out, line)
		}
	}
	return out.Flush()
}
