package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
)

// sight is what a job sees on its nodes.
type sight struct {
	// stat looks at an absolute path, through links. fs.ErrNotExist means that
	// the path is not there; with any other error it may be.
	stat func(path string) (fs.FileInfo, error)
	// path is the job's PATH, dir the directory that it is submitted from.
	path, dir string
	// functions says that functions of its user's shells may reach the job.
	functions bool
}

// lacking are those of a script's things that a job does not see.
func (s sight) lacking(things []batch.Thing) batch.Lacking {
	lacking := batch.Lacking{}
	for _, t := range things {
		lacking[t] = !s.mayHave(t)
	}
	return lacking
}

// mayHave reports whether a thing is there or may be.
func (s sight) mayHave(t batch.Thing) bool {
	if t.What == batch.Program && !strings.Contains(t.Name, "/") {
		return s.onPath(t.Path+":"+s.path, t.Name)
	}
	if t.What == batch.Function {
		return s.functions || slices.ContainsFunc(moduleInits, s.may)
	}
	file := t.Name
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.dir, file)
	}
	return s.may(file)
}

// may reports whether a path is there or may be.
func (s sight) may(path string) bool {
	_, err := s.stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// moduleInits are what defines the functions of environment modules and of Lmod, as their
// packages have them.
var moduleInits = []string{
	"/etc/profile.d/modules.sh", "/etc/profile.d/lmod.sh", "/etc/profile.d/z00_lmod.sh", "/usr/share/modules/init", "/usr/share/Modules/init",
	"/usr/share/lmod", "/opt/modules",
}

// bringsFunctions tells whether shells that start with an environment may have functions
// that no file of the nodes has.
func bringsFunctions(environ []string) bool {
	return slices.ContainsFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, "BASH_FUNC_m") || strings.HasPrefix(v, "BASH_ENV=") || strings.HasPrefix(v, "ENV=")
	})
}

// onPath tells whether a program is in one of the directories of a PATH, or may be.
func (s sight) onPath(path, name string) bool {
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			continue // an empty entry is the working directory, hardly on purpose
		}
		switch info, err := s.stat(filepath.Join(dir, name)); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil, info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			return true
		}
	}
	return false
}

// private are directories that each machine of a cluster has for itself, or that change
// while it runs.
var private = []string{"/dev", "/proc", "/run", "/sys", "/tmp", "/var/run", "/var/tmp"}

// narrowed is a sight that knows only what is below some directories. Elsewhere,
// nodes may have things that this machine has not.
func (s sight) narrowed(dirs []string) sight {
	stat := s.stat
	s.stat = func(path string) (fs.FileInfo, error) {
		info, err := stat(path)
		below := slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, d+"/") })
		if errors.Is(err, fs.ErrNotExist) && !below {
			return nil, errors.New("it may be on nodes all the same")
		}
		return info, err
	}
	return s
}

// sees is a sight for a cluster: where scripts of the user's own change nodes, only what
// they share is known.
func (s sight) sees(facts *batch.Facts, changed bool) sight {
	if !changed {
		return s
	}
	var shared []string
	for _, m := range facts.Mounts {
		if m.Kind != "" {
			shared = append(shared, m.Dir)
		}
	}
	return s.narrowed(shared)
}

// checkNeeds says what of a script is on no node, before it is submitted. It fails if the
// job cannot start, unless it is forced.
func (a *app) checkNeeds(c *cobra.Command, file string) error {
	data, problems := readScript(file)
	if problems.HasErrors() || fromStdin(file) {
		return nil // the submission reports it, and looks at the standard input
	}
	facts, s, err := a.jobSight()
	if facts == nil || err != nil {
		return err
	}
	b, err := scriptArgs(c, []string{file})
	if err != nil {
		return err
	}
	flags, force := submitOptions(c)
	facts.Lacking = s.lacking(batch.Things(b.called, data, flags))
	return a.showChecked(batch.CheckNeeds(b.called, data, flags, facts), force)
}

// jobSight is what jobs see that are submitted from here, and what the file of the
// cluster says. The facts are nil where neither is known.
func (a *app) jobSight() (*batch.Facts, sight, error) {
	n, err := a.near()
	if errors.Is(err, errFar) {
		return nil, sight{}, nil
	}
	if err != nil {
		return nil, sight{}, err
	}
	seen, err := n.Sight()
	dir, wdErr := os.Getwd()
	if err != nil || seen.File == nil || wdErr != nil {
		return nil, sight{}, err
	}
	facts := batch.FactsOf(seen.File)
	facts.Rehearsal = !onCloudHead() // custom actions, which could change nodes, do not run in one
	s := sight{stat: seen.Stat, path: seen.Path, dir: dir, functions: bringsFunctions(os.Environ())}
	return facts, s.sees(facts, onCloudHead()), nil
}

// lookFor adds to the facts what of a script is on no node, where that can be told.
func (a *app) lookFor(facts *batch.Facts, data []byte, flags []string) {
	if like, s, err := a.jobSight(); like != nil && err == nil {
		facts.Lacking, facts.Rehearsal = s.lacking(batch.Things("", data, flags)), like.Rehearsal
	}
}

// submitOptions are those of submitFlags.
func submitOptions(c *cobra.Command) (flags []string, force bool) {
	if all, ok := c.Flags().Lookup("sbatch").Value.(*texts); ok {
		flags = batch.Flags(*all)
	}
	force, _ = c.Flags().GetBool("force")
	return flags, force
}

// showChecked shows what a check of a script found: errors in full, which stop it unless
// it is forced, and warnings and what could not be looked at in a line each.
func (a *app) showChecked(found *diag.List, force bool) error {
	if err := a.showProblems(only(found, diag.Error)); err != nil && !force {
		fmt.Fprintln(a.err, "muster: nothing is submitted; with --force before the script, it is")
		return err
	}
	if a.quiet {
		return nil
	}
	short := &diag.List{}
	for _, d := range only(found, diag.Warning, diag.Blind).All() {
		d.Source, d.Hint = "", ""
		short.Append(d)
	}
	return a.showProblems(short)
}
