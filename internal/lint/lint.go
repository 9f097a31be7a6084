// Package lint holds rules over a cluster file: what AWS ParallelCluster's
// validators refuse or warn of, as far as it can be known without asking AWS, and
// what they miss. What only AWS knows is reported as blind, never as a pass.
//
// A rule is a function that looks at values of the file and says what is wrong
// with them. It asks Given first, so that a value with a problem of its own does
// not get a second one. It gives a fix where there is one right answer that costs
// no money. Every code has fixtures in testdata/rules, one that the
// rule reports and one that it does not.
package lint

import "github.com/muster-hpc/muster/internal/spec"

// Cluster adds to a file's problems what its schema cannot say.
func Cluster(f *spec.File) {
	root, ok := f.Root()
	if !ok {
		return
	}
	blind(root, offline(root, f.Level()))
}

// offline has all rules that need no answer of AWS.
func offline(root spec.View, level spec.Level) []resource {
	storage(root)
	services(root, level)
	all := resources(root)
	compute(root, all, level)
	network(root, all, level)
	practice(root, all, level)
	return all
}
