package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// trialPrimary is what slurmctld says when it has read its configuration. It loads its
// plugins for priorities and burst buffers after that, and may still refuse them.
const trialPrimary = "Running as primary controller"

// trialRuns tells whether slurmctld says, where it says much, that it has all it needs
// and begins its work.
func trialRuns(line string) bool {
	return strings.HasPrefix(line, "debug3: _slurmctld_background pid")
}

func waitsForFile(line string) bool {
	return strings.HasPrefix(line, "error: ") && strings.Contains(line, "cannot stat file") && strings.Contains(line, "retrying")
}

// refusal is slurmctld's refusal in its own words, with the setting of the user's
// that it is about, if one can be told.
func refusal(said []string, dir string, custom []spec.Setting) error {
	why := refusedWith(said)
	if len(why) == 0 {
		return nil
	}
	text := strings.ReplaceAll(strings.Join(why, "; "), dir+"/", "/etc/slurm/")
	if i := blamed(custom, text); i >= 0 {
		text += fmt.Sprintf(" (%s: %s)", position(custom[i].Place), custom[i].Key)
	}
	return fmt.Errorf("slurmctld refuses this configuration, and nothing was changed: %s", text)
}

// position is a place as compilers write it.
func position(p diag.Place) string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// refusedWith are the lines of a refusal: the fatal one, and what led to it.
func refusedWith(said []string) []string {
	if len(said) == 0 {
		return nil
	}
	last := said[len(said)-1]
	fatal, ended := strings.CutPrefix(last, "fatal: ")
	switch {
	case waitsForFile(last) && strings.Contains(last, "/slurm.conf"):
		return nil // that is the trial's own trouble
	case waitsForFile(last):
		line, _, _ := strings.Cut(strings.TrimPrefix(last, "error: "), ", retrying")
		return []string{line}
	case !ended, lacking(fatal):
		return nil
	}
	if len(said) > 1 {
		if before, ok := strings.CutPrefix(said[len(said)-2], "error: "); ok && !strings.Contains(before, "more than once") {
			return []string{fatal, before}
		}
	}
	return []string{fatal}
}

// lacking tells whether slurmctld only misses what a trial does not have: accounting. The
// cluster has it, so that is no refusal.
func lacking(fatal string) bool {
	return slices.ContainsFunc([]string{"slurmdbd", "TRES", "database", "accounting"}, func(s string) bool { return strings.Contains(fatal, s) })
}

// blamed is the setting that a refusal names by its key, its value or its file.
func blamed(custom []spec.Setting, text string) int {
	for _, names := range []func(spec.Setting) string{
		func(s spec.Setting) string { return s.Key },
		func(s spec.Setting) string { return s.Value },
		func(s spec.Setting) string { kind, _, _ := strings.Cut(s.Value, "/"); return kind + ".conf" },
		func(s spec.Setting) string { kind, _, _ := strings.Cut(s.Value, "/"); return " " + kind + " plugin" },
	} {
		if i := slices.IndexFunc(custom, func(s spec.Setting) bool { return len(names(s)) > 2 && strings.Contains(text, names(s)) }); i >= 0 {
			return i
		}
	}
	return -1
}

// customised are the settings of the user's own for Slurm, its partitions and its nodes.
func customised(c *spec.Cluster) []spec.Setting {
	all := slices.Clone(c.Scheduling.Slurm.Custom)
	for _, q := range c.Scheduling.Queues {
		all = append(all, q.Custom...)
		for _, r := range q.ComputeResources {
			all = append(all, r.Custom...)
		}
	}
	return all
}

// owned refuses settings and mount directories of the user's that are the cluster's own.
func owned(c *spec.Cluster) error {
	if err := c.RefuseMounts(); err != nil {
		return err
	}
	for _, s := range c.Scheduling.Slurm.Custom {
		if spec.OwnSetting(s.Key) {
			return fmt.Errorf("%s: %s cannot be set for a cluster on this machine, which has its own: remove it", position(s.Place), s.Key)
		}
	}
	return nil
}
