package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// environmentRules are about variables that libraries of distributed training
// read: env.tsv says which there are and what becomes of them.
func environmentRules(s *script) {
	own := s.references()
	for _, v := range s.environment() {
		s.setting(v, own[v.name])
	}
	s.unexported(own)
	s.interfaces()
	s.loudLogs()
	s.absentEFA()
}

// setting judges one variable by the first of its rows that is for its value and
// for the machines of the job. own says that the script looks at it itself.
func (s *script) setting(v *variable, own bool) {
	rows := knownSettings().of(v.name)
	if rows == nil {
		s.unknownVariable(v, own)
		return
	}
	if v.bare || v.known() && v.text == "" && rows[0].status != "unknown" {
		return
	}
	for _, r := range rows {
		where := s.concerns(r.scope)
		if where == no || !r.fits(v.value) {
			continue
		}
		if where == yes || r.status == "harmful" {
			s.judge(v, r)
		}
		return
	}
}

// judge reports what a row says of a variable.
func (s *script) judge(v *variable, r setting) {
	switch r.status {
	case "unknown":
		s.warnf("script/env-unknown", v.Place, "%s is no setting: %s", v.name, r.why).WithHint("use %s instead", r.instead)
	case "aborts":
		s.fails(v, "script/env-aborts", "%s: %s", v.name, r.why).WithHint("remove it")
	case "norma":
		s.fails(v, "script/env-aborts", "%s: %s, such as %s", v.name, r.why, s.machine()).WithHint("remove it")
	case "harmful":
		s.warnf("script/env-harmful", v.Place, "%s: %s", v.shownAs(), r.why).WithHint("remove it")
	case "oneof":
		s.warnf("script/env-value", v.Place, "%s: %s", v.shownAs(), r.why).WithHint("write one of %s", strings.ToUpper(strings.Join(r.values, ", ")))
	case "slow":
		s.warnf("script/env-slow", v.Place, "%s: %s", v.shownAs(), r.why).WithHint("remove it")
	case "watchdog":
		s.warnf("script/watchdog", v.Place, "%s: %s", v.shownAs(), r.why).WithHint("remove it")
	case "pinned", "folklore":
		s.tuning(v, r)
	default:
		s.outdated(v, r)
	}
}

// outdated are settings that do nothing.
func (s *script) outdated(v *variable, r setting) {
	switch r.status {
	case "removed":
		s.warnf("script/env-removed", v.Place, "%s has no effect since %s: %s", v.name, r.version(), r.why).WithHint("remove it")
	case "renamed":
		s.warnf("script/env-renamed", v.Place, "%s is an old name, replaced in %s", v.name, r.version()).WithHint("write %s", r.instead)
	case "ineffective":
		s.warnf("script/env-ineffective", v.Place, "%s has no effect: %s", v.name, r.why).WithHint("remove it")
	case "unneeded":
		s.warnf("script/env-unneeded", v.Place, "%s is not needed: %s", v.name, r.why).WithHint("remove it")
	}
}

// tuning reports settings that take choices away. Scripts that measure set them on purpose.
func (s *script) tuning(v *variable, r setting) {
	if s.measures() {
		return
	}
	if r.status == "pinned" {
		s.warnf("script/env-pinned", v.Place, "%s: %s", v.shownAs(), r.why).WithHint("remove it")
		return
	}
	s.warnf("script/env-tuning", v.Place, "%s: %s", v.shownAs(), r.why).WithHint("remove it, unless you have measured that it helps")
}

// unknownVariable reports an unknown variable whose name begins as those of a family that is
// known as a whole, or is nearly one of them. A variable that the script reads is its
// own.
func (s *script) unknownVariable(v *variable, own bool) {
	for _, f := range nameFamilies {
		if !strings.HasPrefix(v.name, f.prefix) {
			continue
		}
		near := knownSettings().meant(v.name)
		switch {
		case near != "":
			s.warnf("script/env-unknown", v.Place, "nothing reads %s", v.name).WithHint("did you mean %s?", near)
		case f.complete && !own && !slices.ContainsFunc(ownSuffixes, func(end string) bool { return strings.HasSuffix(v.name, end) }):
			s.warnf("script/env-unknown", v.Place, "nothing that we know reads %s", v.name).
				WithHint("remove it, or give a variable of your own another beginning than %s", f.prefix)
		}
		return
	}
}

// ownSuffixes end names that scripts make up for themselves.
var ownSuffixes = []string{"_PATH", "_DIR", "_HOME", "_ROOT", "_PREFIX", "_BIN", "_IMAGE", "_CONTAINER", "_ARGS", "_OPTS", "_FLAGS"}

// unexported reports settings that stay inside the shell: no program sees them.
func (s *script) unexported(own map[string]bool) {
	for _, v := range s.variables {
		rows := knownSettings().of(v.name)
		if v.exported || v.scope != nil || rows == nil || rows[0].status == "other" || own[v.name] {
			continue
		}
		s.warnf("script/env-unexported", v.Place, "%s is set and not exported: no program sees it", v.name).
			WithHint("write export %s=…", v.name)
	}
}

var reference = pattern.New(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// references are the variables that the script looks at itself.
func (s *script) references() map[string]bool {
	all := map[string]bool{}
	for _, w := range s.words {
		for _, m := range reference().FindAllStringSubmatch(w.raw, -1) {
			all[m[1]] = true
		}
	}
	return all
}

// fails adds an error. What is set in a branch may not be set at all, and is a
// warning.
func (s *script) fails(v *variable, code, format string, args ...any) *diag.Diagnostic {
	if !v.conditional {
		return s.errorf(code, v.Place, format, args...)
	}
	return s.warnf(code, v.Place, format, args...)
}

// shownAs is the variable with its value, as far as it is known.
func (v *variable) shownAs() string {
	if !v.whole() {
		return v.name
	}
	return v.name + "=" + v.text
}

// version is the one since which the row is so.
func (r setting) version() string {
	library, _, _ := strings.Cut(r.source, "-")
	switch {
	case strings.HasPrefix(r.since, "torch "):
		return "PyTorch " + strings.TrimPrefix(r.since, "torch ")
	case library == "nccl":
		return "NCCL " + r.since
	case library == "ofi":
		return "aws-ofi-nccl " + r.since
	}
	return "libfabric " + r.since
}
