//go:build linux

package load

import (
	"path/filepath"
	"strconv"
)

// IORRun is a measurement by IOR.
type IORRun struct {
	// Program is its path, Dir one of muster's directories, of which it leaves nothing.
	Program, Dir string
	// Bytes are those of a task, Seconds how long all write, and read.
	Bytes   int64
	Seconds int
	// Direct says that the file system can be written and read past the page cache.
	Direct bool
}

// Line is the command line that measures a directory by all tasks of a step of MPI: each writes a file of its own (-F), which is on the
// disks when the time ends (-e), and reads that of a task on another node (-C). When the time is over all come to as many bytes as the
// first has by then, and read those: files that ended early could not be read back.
//
// https://ior.readthedocs.io/en/latest/userDoc/options.html
func (r IORRun) Line() []string {
	line := []string{
		r.Program, "-a", "POSIX", "-w", "-r", "-F", "-e", "-C", "-l", "incompressible",
		"-t", strconv.Itoa(chunk), "-b", strconv.FormatInt(max(1, r.Bytes/chunk)*chunk, 10), "-D", strconv.Itoa(r.Seconds), "-O", "stoneWallingWearOut=1",
		"-o", filepath.Join(r.Dir, "ior"),
	}
	if r.Direct {
		line = append(line, "--posix.odirect")
	}
	return line
}

// MDTest is the command line that makes, looks at and removes empty files by all tasks: each in a directory of its own (-u), and
// each looks at those of the next (-N 1), which is on another node where the tasks are dealt out to the nodes in turn. Where they are not,
// mdtest of 3.3 and later counts -N in nodes, and older ones in tasks (src/mdtest.c, nstride).
//
// https://ior.readthedocs.io/en/latest/userDoc/mdtest.html
func MDTest(program, dir string, files int) []string {
	return []string{program, "-n", strconv.Itoa(files), "-F", "-u", "-N", "1", "-d", filepath.Join(dir, "mdtest")}
}

// Place is the directory that a run makes in one that the user gave: PhaseWrite makes it, PhaseEnd removes it with all that is in it.
func Place(dir, run string) string { return filepath.Join(dir, placePrefix+run) }
