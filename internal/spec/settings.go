package spec

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// settingPlace is where custom Slurm settings stand: lines of slurm.conf, or
// words at the end of a partition's or of nodes' line.
type settingPlace int

const (
	slurmConf settingPlace = iota
	slurmQueue
	slurmNodes
)

// denied are the settings that belong to ParallelCluster, in small letters. It
// refuses the same ones.
var denied = [...][]string{
	slurmConf: {
		"epilog", "grestypes", "launchparameters", "prolog", "reconfigflags", "resumefailprogram", "resumeprogram",
		"resumetimeout", "slurmctldhost", "slurmctldlogfile", "slurmctldparameters", "slurmdlogfile", "slurmuser",
		"suspendexcnodes", "suspendprogram", "suspendtime", "taskplugin", "treewidth",
	},
	slurmQueue: {"nodes", "partitionname", "resumetimeout", "state", "suspendtime", "oversubscribe"},
	slurmNodes: {"cpus", "features", "gres", "nodeaddr", "nodehostname", "nodename", "state", "weight"},
}

var settingName = pattern.New(`^[A-Za-z][A-Za-z0-9_/-]{0,63}$`)

// checkSettings holds that custom Slurm settings stay on their line.
func checkSettings(v View, at settingPlace) {
	if at != slurmConf {
		checkLine(v, at)
		return
	}
	for _, line := range v.Items() {
		checkLine(line, at)
	}
}

// checkLine checks the settings of one line. Lines of several settings define
// nodes and partitions of the user's own, for which nothing is denied.
func checkLine(v View, at settingPlace) {
	if v.node == nil || v.node.kind != mapping {
		return
	}
	single := at == slurmConf && len(v.node.entries) == 1
	for i := range v.node.entries {
		e := &v.node.entries[i]
		setting := View{doc: v.doc, field: v.field, node: e.value, path: join(v.path, e.key)}
		checkSetting(setting, e, single)
		if (single || at != slurmConf) && slices.Contains(denied[at], strings.ToLower(e.key)) {
			v.doc.errorAt(v.doc.at(e.line, e.column), "slurm/denied", setting.path, "%s cannot be set here", yamledit.Clip(e.key)).
				WithHint("it follows from the cluster file; remove it")
		}
	}
}

func checkSetting(v View, e *entry, alone bool) {
	at := v.doc.at(spot(e))
	if !settingName().MatchString(e.key) {
		v.doc.errorAt(v.doc.at(e.line, e.column), "slurm/value", v.path, "%s cannot be the name of a Slurm setting", quote(e.key))
	}
	value := e.value.value
	switch {
	case e.value.tag == "bad":
	case e.value.kind != scalar || e.value.null():
		v.doc.errorAt(at, "schema/type", v.path, "%s must be a text, not %s", yamledit.Clip(e.key), e.value.describe())
	case strings.ContainsFunc(value, breaksLine):
		v.doc.errorAt(at, "slurm/value", v.path, "the value of %s has a line break or control character", yamledit.Clip(e.key)).
			WithHint("write it on one line")
	case strings.Contains(value, "#"):
		v.doc.errorAt(at, "slurm/value", v.path, "the value of %s has a #, which begins a comment in slurm.conf", yamledit.Clip(e.key)).
			WithHint("remove the #")
	case strings.HasSuffix(value, `\`):
		v.doc.errorAt(at, "slurm/value", v.path, "the value of %s ends in \\, which joins it with the next line of slurm.conf", yamledit.Clip(e.key)).
			WithHint("remove the \\")
	case e.value.tag == "timestamp":
		v.doc.errorAt(at, "slurm/value", v.path, "the value of %s is a date to YAML", yamledit.Clip(e.key)).WithHint("write it in quotes: \"%s\"", yamledit.Clip(value))
	case e.value.tag != "str":
		checkRead(v, e, at)
	case !alone && !oneWord(value):
		v.doc.errorAt(at, "slurm/value", v.path, "the value of %s has a blank, which begins another setting in slurm.conf", yamledit.Clip(e.key)).
			WithHint("remove the blank, or put double quotes inside the value")
	}
}

// checkRead warns of a value that YAML takes for something else than what is
// written, which slurm.conf then gets.
func checkRead(v View, e *entry, at diag.Place) {
	switch got, ok := e.value.asPython(); {
	case !ok:
		v.doc.errorAt(at, "slurm/value", v.path, "the value of %s is %s to YAML, which cannot be written", yamledit.Clip(e.key), e.value.describe())
	case got != e.value.value:
		v.doc.warnAt(at, "slurm/value", v.path, "%s is %s to YAML: slurm.conf gets %s=%s", yamledit.Clip(e.value.value), e.value.what(), yamledit.Clip(e.key), got).
			WithHint("write it in quotes if it is meant as it stands: \"%s\"", yamledit.Clip(e.value.value))
	}
}

// breaksLine reports whether a character ends a line for some program
// that reads slurm.conf.
func breaksLine(r rune) bool {
	return r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// oneWord reports whether Slurm reads a value as one word: blanks stand
// between double quotes only, and all quotes are closed.
func oneWord(value string) bool {
	quoted := false
	for _, r := range value {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && (r == ' ' || r == '\t'):
			return false
		}
	}
	return !quoted
}

// settings are the settings of a partition or of nodes.
func settings(v View) []Setting {
	var out []Setting
	if v.node != nil {
		for _, e := range v.node.entries {
			value, _ := e.value.asPython()
			out = append(out, Setting{Key: e.key, Value: value, Place: v.doc.at(e.line, e.column)})
		}
	}
	return out
}

// settingLines are lines for slurm.conf. A line of several settings has the
// first one's key and the others in its value.
func settingLines(v View) []Setting {
	var out []Setting
	for _, line := range v.Items() {
		all := settings(line)
		if len(all) == 0 {
			continue
		}
		s := all[0]
		for _, more := range all[1:] {
			s.Value += " " + more.Key + "=" + more.Value
		}
		out = append(out, s)
	}
	return out
}
