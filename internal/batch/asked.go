package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// Asked is what only a cluster that runs can tell. A list that is nil was not told.
type Asked struct {
	Reservations []string
	// Licenses are how many there are of each.
	Licenses map[string]int
	// Accounts are those that the user may charge, Qualities what QoS there are.
	Accounts, Qualities []string
	Clusters            []string
	// Jobs are the numbers of those that slurmctld knows, and of their arrays.
	Jobs []string
	// Conf is slurm.conf as slurmctld has read it.
	Conf map[string]string
}

// Wants tells which of some options a script or its command line has.
func Wants(data []byte, flags []string, names ...string) bool {
	all := slices.Concat(Directives(data), flagsOf(flags))
	return slices.ContainsFunc(all, func(o Option) bool { return slices.Contains(names, o.Name) })
}

// askedRules find names of the job that the cluster does not have. Names that could not be
// looked up are reported in one line.
func (s *script) askedRules() {
	if s.facts == nil || s.parts {
		return
	}
	asked := s.facts.Asked
	if asked == nil {
		asked = &Asked{}
	}
	var unknown []Option
	for _, name := range []string{"reservation", "licenses", "account", "qos", "switches", "clusters", "wckey", "dependency"} {
		o, ok := s.option(name)
		if !ok || o.Value == "" || strings.Contains(o.Value, "$") {
			continue
		}
		if !s.judgeAsked(o, asked) {
			unknown = append(unknown, o)
		}
	}
	if len(unknown) > 0 {
		s.notAsked(unknown)
	}
}

// notAsked reports the names that were not looked up.
func (s *script) notAsked(unknown []Option) {
	texts := make([]string, len(unknown))
	for i, o := range unknown {
		texts[i] = o.written()
	}
	s.list.Blindf("script/unasked", "", "whether the cluster has what %s says is not looked up: only a cluster that runs knows", strings.Join(texts, ", ")).
		At(s.at(unknown[0])).WithHint("`muster check SCRIPT --cluster NAME` and `muster run` ask it")
}

// at is the place of an option, or the file's for one of the command line.
func (s *script) at(o Option) diag.Place {
	if o.Place.File == "" {
		return s.whole()
	}
	return o.Place
}

// judgeAsked reports what an option names in vain. It is false if that is not known.
func (s *script) judgeAsked(o Option, a *Asked) bool {
	switch o.Name {
	case "reservation":
		return s.among("script/reservation", o, "reservation", strings.Split(o.Value, ","), a.Reservations)
	case "clusters":
		return o.Value == "all" || s.among("script/clusters", o, "cluster", strings.Split(o.Value, ","), a.Clusters)
	case "licenses":
		return s.licenses(o, a.Licenses)
	case "account":
		return s.enforced("script/account", o, "account", a.Accounts, "associations", a.Conf)
	case "qos":
		return s.enforced("script/qos", o, "QoS", a.Qualities, "qos", a.Conf)
	case "switches":
		return s.switches(o, a.Conf)
	case "dependency":
		return s.judgeAwaitedJobs(o, a)
	}
	return strings.EqualFold(a.Conf["TrackWCKey"], "no") // Slurm then ignores it
}

// among reports names that are not there.
func (s *script) among(code string, o Option, noun string, names, there []string) bool {
	if there == nil {
		return false
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			withThere(s.errorf(code, s.at(o), "there is no %s %q: Slurm refuses the job", noun, name), name, there)
		}
	}
	return true
}

// withThere is a hint with the names that the cluster has.
func withThere(d *diag.Diagnostic, name string, there []string) {
	switch near := diag.Nearest(name, there); {
	case near != "":
		d.WithHint("did you mean %s?", near)
	case len(there) == 0:
		d.WithHint("there is none; leave the option away")
	default:
		d.WithHint("there is %s", strings.Join(there, ", "))
	}
}

// licenses reports licenses that are not there, or not so many.
func (s *script) licenses(o Option, there map[string]int) bool {
	if there == nil || strings.Contains(o.Value, "|") {
		return false
	}
	for item := range strings.SplitSeq(o.Value, ",") {
		name, many, _ := strings.Cut(item, ":")
		have, ok := there[name]
		switch {
		case !ok:
			s.errorf("script/licenses", s.at(o), "the cluster has no license %q: Slurm says \"Invalid license specification\"", name)
		case number(many) > have:
			s.errorf("script/licenses", s.at(o), "%d of license %s are asked for, and the cluster has %d", number(many), name, have)
		}
	}
	return true
}

// enforced reports an account or QoS that is not there. Where slurm.conf does not hold
// jobs to them (AccountingStorageEnforce), Slurm takes any.
func (s *script) enforced(code string, o Option, noun string, there []string, word string, conf map[string]string) bool {
	enforce, told := conf["AccountingStorageEnforce"]
	if there == nil || !told {
		return false
	}
	if slices.Contains(there, strings.ToLower(o.Value)) {
		return true
	}
	if !enforces(enforce, word) {
		s.infof("script/unenforced", s.at(o), "there is no %s %q for you, and the job is taken all the same: the cluster holds jobs to none (AccountingStorageEnforce=%s)", noun, o.Value, enforce)
		return true
	}
	withThere(s.errorf(code, s.at(o), "there is no %s %q for you: Slurm refuses the job", noun, o.Value), o.Value, there)
	return true
}

// enforces tells whether AccountingStorageEnforce has a word, or one that brings it
// along (slurm.conf(5)).
func enforces(text, word string) bool {
	for w := range strings.SplitSeq(strings.ToLower(text), ",") {
		if w == word || w == "all" || word == "associations" && slices.Contains([]string{"limits", "qos", "safe", "wckeys"}, w) {
			return true
		}
	}
	return false
}

// switches says where a number of switches has no effect.
func (s *script) switches(o Option, conf map[string]string) bool {
	plugin, told := conf["TopologyPlugin"]
	if !told {
		return false
	}
	if slices.Contains([]string{"", "(null)", "topology/none", "topology/default", "topology/flat"}, plugin) {
		s.infof("script/switches", s.at(o), "%s has no effect: the cluster's Slurm knows no switches (TopologyPlugin)", o.written())
	}
	return true
}
