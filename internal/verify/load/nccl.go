//go:build linux

package load

import (
	"cmp"
	"strconv"
)

// NCCLTest is a program of nccl-tests, to be run by one task for each GPU: it has to be built with MPI then.
// https://github.com/NVIDIA/nccl-tests says what its options mean.
type NCCLTest struct {
	// Program is its path, Max the largest size, "4G" if empty.
	Program, Max string
	// Iterations are those of each size, 0 is the program's own number.
	Iterations int
	// JSON is a file to write besides, which must not be there: nccl-tests from 2.17 on; empty is none.
	JSON string
}

// Line is its command line.
func (n NCCLTest) Line() []string {
	line := []string{n.Program, "-b", "8", "-e", cmp.Or(n.Max, "4G"), "-f", "2", "-g", "1"}
	if n.Iterations > 0 {
		line = append(line, "-n", strconv.Itoa(n.Iterations))
	}
	if n.JSON != "" {
		line = append(line, "-J", n.JSON)
	}
	return line
}
