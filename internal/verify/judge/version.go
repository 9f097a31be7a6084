package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
)

// program is something that has the same version on all nodes where all is well.
type program struct {
	name string
	see  func(*verify.Facts) verify.Look[string]
}

func programs() []program {
	return []program{
		{"kernel", func(f *verify.Facts) verify.Look[string] { return f.Machine.Kernel }},
		{"distribution", func(f *verify.Facts) verify.Look[string] { return f.Machine.Distro }},
		{"driver", func(f *verify.Facts) verify.Look[string] { return f.GPU.Driver }},
		{"efa", func(f *verify.Facts) verify.Look[string] { return f.EFA.Installer }},
		{"efa-driver", func(f *verify.Facts) verify.Look[string] { return f.EFA.Driver }},
		{"libfabric", func(f *verify.Facts) verify.Look[string] { return f.EFA.Libfabric }},
		{"ofi-plugin", func(f *verify.Facts) verify.Look[string] { return f.EFA.Plugin }},
		{"nccl", func(f *verify.Facts) verify.Look[string] { return f.Software.NCCL }},
		{"cuda", func(f *verify.Facts) verify.Look[string] { return f.Software.CUDA }},
		{"pytorch", func(f *verify.Facts) verify.Look[string] { return f.Software.PyTorch }},
		{"slurm", func(f *verify.Facts) verify.Look[string] { return f.Software.Slurm }},
	}
}

// Versions holds nodes against each other, all of one role: a program that some have in another version, or not at all, is worth
// a warning that names them. versions are what most have, by program, without what nobody has.
func Versions(all map[string]verify.Facts) (results []verify.Result, versions map[string]string) {
	versions = map[string]string{}
	for _, p := range programs() {
		nodes := map[string][]string{}
		var unseen []string
		var why string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			f := all[name]
			version, blind := p.see(&f).See()
			if blind != "" {
				unseen, why = append(unseen, name), blind
				continue
			}
			nodes[version] = append(nodes[version], name)
		}
		usual := most(nodes)
		if usual != "" {
			versions[p.name] = usual
		}
		if len(nodes) > 1 || usual != "" {
			results = append(results, without(same(p.name, usual, nodes), unseen, why))
		}
	}
	return results, versions
}

// most is the version that most have, of equally many the newest by its text.
func most(nodes map[string][]string) (usual string) {
	for _, version := range slices.Sorted(maps.Keys(nodes)) {
		if len(nodes[version]) >= len(nodes[usual]) {
			usual = version
		}
	}
	return usual
}

// without says of which nodes a version could not be seen: what the others have is no pass of theirs.
func without(r verify.Result, unseen []string, why string) verify.Result {
	switch {
	case len(unseen) == 0:
	case r.Verdict == verify.Pass:
		r.Verdict, r.On, r.Why = verify.Blind, slurm.Compress(unseen), "it could not be seen there: "+why
		r.Found += " on the others"
	default:
		r.Why += fmt.Sprintf("; it could not be seen on %s: %s", slurm.Compress(unseen), why)
	}
	return r
}

func same(name, usual string, nodes map[string][]string) verify.Result {
	text := func(version string) string {
		if version == "" {
			return "none"
		}
		return version
	}
	r := verify.Result{Check: "same-" + name, Verdict: verify.Pass, Found: text(usual), Want: "one version on all nodes", Source: "what most nodes have"}
	var others, odd []string
	for _, version := range slices.Sorted(maps.Keys(nodes)) {
		if version == usual {
			continue
		}
		others = append(others, fmt.Sprintf("%s on %s", text(version), slurm.Compress(nodes[version])))
		odd = append(odd, nodes[version]...)
	}
	if len(others) == 0 {
		return r
	}
	r.On, r.Verdict, r.Found, r.Want = slurm.Compress(odd), verify.Warn, strings.Join(others, ", "), text(usual)+", as most nodes have"
	r.Why, r.Hint = "nodes of different software are not equally fast, and may not work together", "start these nodes from the image of the others"
	return r
}
