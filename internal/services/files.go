//go:build linux

package services

import (
	"io/fs"
	"strings"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/slurm/spank"
)

// File is a file of a head node.
type File struct {
	Path, Text string
	Mode       fs.FileMode
	// Owner is empty for root.
	Owner string
}

// Place completes a cluster file's configuration of Slurm with the paths of every head
// node.
func Place(c slurm.Config, p Params) slurm.Config {
	c.HeadAddress, c.ControlUser = p.Address, p.ControlUser
	c.ResumeProgram, c.SuspendProgram, c.JobProlog = ResumeProgram, SuspendProgram, JobProlog
	c.StateDir, c.SpoolDir = StateDir, SpoolDir
	c.PlugStack = p.slurm().Conf + "/plugstack.conf"
	return c
}

// Files are what a head node's services read and what Slurm runs.
func Files(c slurm.Config, stack spank.Stack, p Params) []File {
	dir := p.slurm().Conf
	return []File{
		{Path: dir + "/plugstack.conf", Text: stack.Conf(), Mode: 0o644},
		{Path: dir + "/slurm.conf", Text: c.Conf(), Mode: 0o644},
		{Path: dir + "/gres.conf", Text: c.GresConf(), Mode: 0o644},
		{Path: dir + "/cgroup.conf", Text: c.CgroupConf(), Mode: 0o644},
		{Path: dir + "/slurmdbd.conf", Text: c.DBDConf(), Mode: 0o600, Owner: p.ControlUser},
		{Path: ResumeProgram, Text: program("fleet", "resume"), Mode: 0o755},
		{Path: SuspendProgram, Text: program("fleet", "suspend"), Mode: 0o755},
		{Path: Seff, Text: program("agent", "seff"), Mode: 0o755},
		{Path: JobProlog, Text: program("fleet", "await"), Mode: 0o755},
		{Path: dir + "/mariadb.sql", Text: p.DatabaseSetup(), Mode: 0o644},
	}
}

// program is a script that is one of muster's commands under a name without
// arguments, as slurm.conf wants it.
func program(command ...string) string {
	return "#!/bin/sh\nexec " + Muster + " " + strings.Join(command, " ") + " \"$@\"\n"
}
