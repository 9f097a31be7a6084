//go:build linux

package load

import (
	"strconv"
	"strings"
)

// FindStorage is a shell script that says on a node which measuring programs it has, how many processors, and for each mount, by its
// number, a directory in which this user may write: the mount itself, his home if it is there, or one of his name. srun's words of a
// line: what, node, value.
const FindStorage = `n=${SLURMD_NODENAME:-here}; echo "muster-cpus $n $(nproc)"
for p in ior mdtest fio; do f=$(command -v $p) && [ -x "$f" ] && echo "muster-$p $n $f"; done
i=0; for m in "$@"; do
 for d in "$m" "$(cd -P -- "$HOME" 2>/dev/null && pwd -P)" "$m/$(id -un)"; do
  case "$d/" in "$m"/*) [ ! -L "$d" ] && [ -d "$d" ] && [ -w "$d" ] && [ -x "$d" ] && [ "$(stat -c %d -- "$d")" = "$(stat -c %d -- "$m")" ] && echo "muster-dir$i $n $d" && break;; esac
 done; i=$((i+1))
done`

// StorageTools is what nodes have that measures storage.
type StorageTools struct {
	// Paths are where the nodes have each program, by its name and the node.
	Paths map[string]map[string]string
	// CPUs is the fewest processors of a node, at least 1.
	CPUs int
	// dirs are where nodes may write, by the mount's number and the node.
	dirs map[string]map[string]string
}

// ReadStorageTools reads lines that FindStorage wrote, of several nodes.
func ReadStorageTools(lines []string) StorageTools {
	t := StorageTools{Paths: map[string]map[string]string{}, dirs: map[string]map[string]string{}}
	for _, line := range lines {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		what, ok := strings.CutPrefix(words[0], "muster-")
		if !ok || len(words) != 3 {
			continue
		}
		in := t.Paths
		if strings.HasPrefix(what, "dir") {
			in = t.dirs
		}
		if what == "cpus" {
			if n, err := strconv.Atoi(words[2]); err == nil && n > 0 && (t.CPUs == 0 || n < t.CPUs) {
				t.CPUs = n
			}
			continue
		}
		if in[what] == nil {
			in[what] = map[string]string{}
		}
		in[what][words[1]] = words[2]
	}
	t.CPUs = max(1, t.CPUs)
	return t
}

// Everywhere is where all nodes have a program, or why they have not.
func (t StorageTools) Everywhere(program string, nodes []string) (path, why string) {
	return same(t.Paths[program], nodes, program)
}

// Dir is where nodes may write on a mount, by its number; empty if no node knows where.
func (t StorageTools) Dir(mount int, nodes []string) string {
	for _, n := range nodes {
		if dir := t.dirs["dir"+strconv.Itoa(mount)][n]; dir != "" {
			return dir
		}
	}
	return ""
}

// same is the value that all nodes have.
func same(by map[string]string, nodes []string, what string) (value, why string) {
	for _, n := range nodes {
		switch have := by[n]; {
		case len(by) == 0:
			return "", "no node has " + what
		case have == "":
			return "", n + " has no " + what
		case value != "" && have != value:
			return "", what + " is " + value + " on " + nodes[0] + " and " + have + " on " + n
		default:
			value = have
		}
	}
	return value, ""
}
