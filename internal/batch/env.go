package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// environmentRules are about variables that libraries of distributed training
// read: env.tsv says which there are and what becomes of them.
func environmentRules(s *script) {
	for _, v := range s.environment() {
		s.setting(v)
	}
	s.unexported()
	s.interfaces()
	s.loudLogs()
	s.absentEFA()
}

// setting judges one variable by the first of its rows that is for its value and
// for the machines of the job.
func (s *script) setting(v *variable) {
	rows := knownSettings().of(v.name)
	if rows == nil {
		s.nobodys(v)
		return
	}
	if v.bare || v.known() && v.text == "" && rows[0].status != "unknown" {
		return
	}
	for _, r := range rows {
		if where := s.concerns(r.scope); where != no && r.fits(v.value) {
			s.judge(v, r, where)
			return
		}
	}
}

// judge reports what a row says of a variable. where tells whether the row is
// surely for the job's machines.
func (s *script) judge(v *variable, r setting, where answer) {
	doubt := where == unclear || !v.known() && len(r.values) > 0
	switch r.status {
	case "unknown":
		s.report(diag.Error, v, "script/env-unknown", "%s is no setting: %s", v.name, r.why).WithHint("use %s instead", r.instead)
	case "aborts":
		s.report(diag.Error, v, "script/env-aborts", "%s: %s", v.name, r.why).WithHint("remove it")
	case "norma":
		s.report(diag.Error, v, "script/env-aborts", "%s: %s, such as %s", v.name, r.why, s.machine()).WithHint("remove it")
	case "harmful":
		s.report(lower(diag.Error, doubt), v, "script/env-harmful", "%s: %s", v.shownAs(), r.why).WithHint("remove it")
	case "slow":
		s.report(lower(diag.Warning, doubt), v, "script/env-slow", "%s: %s", v.shownAs(), r.why).WithHint("remove it")
	case "watchdog":
		s.report(diag.Warning, v, "script/watchdog", "%s: %s", v.shownAs(), r.why).WithHint("remove it")
	case "removed":
		s.report(diag.Warning, v, "script/env-removed", "%s has no effect since %s: %s", v.name, r.version(), r.why).WithHint("remove it")
	case "renamed":
		s.report(diag.Warning, v, "script/env-renamed", "%s is an old name, replaced in %s", v.name, r.version()).WithHint("write %s", r.instead)
	case "ineffective":
		s.report(lower(diag.Warning, doubt), v, "script/env-ineffective", "%s has no effect: %s", v.name, r.why).WithHint("remove it")
	case "unneeded":
		s.report(lower(diag.Warning, doubt), v, "script/env-unneeded", "%s is not needed: %s", v.name, r.why).WithHint("remove it")
	default:
		s.tuning(v, r, doubt)
	}
}

// tuning are settings that take choices away. Who measures sets them on purpose.
func (s *script) tuning(v *variable, r setting, doubt bool) {
	if s.measures() {
		return
	}
	switch r.status {
	case "pinned":
		s.report(lower(diag.Warning, doubt), v, "script/env-pinned", "%s: %s", v.shownAs(), r.why).WithHint("remove it")
	case "folklore":
		s.report(lower(diag.Warning, doubt), v, "script/env-tuning", "%s: %s", v.shownAs(), r.why).
			WithHint("remove it, unless you have measured that it helps")
	}
}

// nobodys reports a variable of which nothing is known, if its name begins as
// those do of which all are known, or is nearly one.
func (s *script) nobodys(v *variable) {
	for _, f := range nameFamilies {
		if !strings.HasPrefix(v.name, f.prefix) {
			continue
		}
		if near := knownSettings().nearest(v.name); near != "" {
			s.report(lower(diag.Error, !f.complete), v, "script/env-unknown", "nothing reads %s", v.name).WithHint("did you mean %s?", near)
			return
		}
		if f.complete {
			s.report(diag.Warning, v, "script/env-unknown", "nothing that we know reads %s", v.name).
				WithHint("remove it, or give a variable of your own another beginning than %s", f.prefix)
		}
		return
	}
}

// unexported reports settings that stay inside the shell: no program sees them.
func (s *script) unexported() {
	for _, v := range s.variables {
		rows := knownSettings().of(v.name)
		if v.exported || v.scope != nil || rows == nil || rows[0].status == "other" || s.refers(v.name) {
			continue
		}
		s.report(diag.Warning, v, "script/env-unexported", "%s is set and not exported: no program sees it", v.name).
			WithHint("write export %s=…", v.name)
	}
}

// refers tells whether the script looks at a variable.
func (s *script) refers(name string) bool {
	return slices.ContainsFunc(s.words, func(w word) bool {
		for _, form := range []string{"$" + name, "${" + name} {
			_, rest, found := strings.Cut(w.raw, form)
			if found && (rest == "" || !isName(rest[:1]) && !(rest[0] >= '0' && rest[0] <= '9')) {
				return true
			}
		}
		return false
	})
}

// report adds a problem of a variable. What is set in a branch may not be set at
// all: an error is a warning there.
func (s *script) report(severity diag.Severity, v *variable, code, format string, args ...any) *diag.Diagnostic {
	if severity == diag.Error && v.conditional {
		severity = diag.Warning
	}
	switch severity {
	case diag.Error:
		return s.errorf(code, v.Place, format, args...)
	case diag.Warning:
		return s.warnf(code, v.Place, format, args...)
	default:
		return s.infof(code, v.Place, format, args...)
	}
}

// lower is a severity less where there is doubt.
func lower(severity diag.Severity, doubt bool) diag.Severity {
	if doubt {
		return min(severity+1, diag.Info)
	}
	return severity
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
