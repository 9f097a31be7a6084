// Command gen writes the table of sbatch's and srun's options, options.tsv, from the
// sources of Slurm: src/common/slurm_opt.c of one release of each version that batch
// scripts are checked for.
//
//	git clone --bare https://github.com/SchedMD/slurm
//	go -C internal/batch run ./gen slurm.git
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// releases are the tags that the table is made of, the oldest first.
var releases = []string{
	"slurm-22-05-8-1", "slurm-23-02-7-1", "slurm-23-11-10-1", "slurm-24-05-8-1", "slurm-24-11-7-1", "slurm-25-05-8-1", "slurm-25-11-7-1",
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run reads the sources from a git directory and writes the table.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the git directory of Slurm's sources")
	}
	t := newTable()
	for _, tag := range releases {
		source, err := show(args[0], tag)
		if err != nil {
			return err
		}
		if err := t.add(versionOf(tag), source); err != nil {
			return fmt.Errorf("read %s: %w", tag, err)
		}
	}
	return os.WriteFile("options.tsv", t.text(), 0o644)
}

// show returns the file with the options at a tag.
func show(dir, tag string) ([]byte, error) {
	var failure bytes.Buffer
	c := exec.Command("git", "-C", dir, "show", tag+":src/common/slurm_opt.c")
	c.Stderr = &failure
	source, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("git show %s: %w: %s", tag, err, bytes.TrimSpace(failure.Bytes()))
	}
	return source, nil
}
