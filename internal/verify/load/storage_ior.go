//go:build linux

package load

import (
	"path/filepath"
	"strconv"
)

// IOR is the command line that measures a directory by all tasks of a step of MPI: each writes a file of its own (-F), which is on the
// disks when the time ends (-e), and reads that of a task on another node (-C). The directory is one of muster's, of which it
// leaves nothing.
//
// https://ior.readthedocs.io/en/latest/userDoc/options.html
func IOR(program, dir string, bytes int64, seconds int) []string {
	blocks := max(1, bytes/chunk)
	return []string{
		program, "-a", "POSIX", "-w", "-r", "-F", "-e", "-C", "-l", "incompressible",
		"-t", strconv.Itoa(chunk), "-b", strconv.FormatInt(blocks*chunk, 10), "-D", strconv.Itoa(seconds), // stonewalling
		"-o", filepath.Join(dir, "ior"), "-O", "summaryFormat=JSON",
	}
}

// MDTest is the command line that makes, looks at and removes empty files by all tasks: each in a directory of its own (-u), and
// each looks at those of another node (-N with the tasks of a node).
//
// https://ior.readthedocs.io/en/latest/userDoc/mdtest.html
func MDTest(program, dir string, files, tasksPerNode int) []string {
	return []string{program, "-n", strconv.Itoa(files), "-F", "-u", "-N", strconv.Itoa(tasksPerNode), "-d", filepath.Join(dir, "mdtest")}
}

// Place is the directory that a run makes in one that the user gave: PhaseWrite makes it, PhaseEnd removes it with all that is in it.
func Place(dir, run string) string { return filepath.Join(dir, placePrefix+run) }
