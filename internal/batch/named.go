package batch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/slurm"
)

// nodeRules find nodes that are not there, which are named by --nodelist and --exclude.
func (s *script) nodeRules() {
	if s.facts == nil || s.parts {
		return
	}
	there := s.facts.nodeNames()
	for _, name := range []string{"nodelist", "exclude"} {
		o, ok := s.option(name)
		if !ok || len(there) == 0 || strings.ContainsAny(o.Value, "$/") {
			continue
		}
		names, err := slurm.Expand(o.Value)
		if err != nil {
			s.errorf("script/nodelist-name", s.at(o), "%s is no list of nodes", o.written())
			continue
		}
		if i := slices.IndexFunc(names, func(n string) bool { return !there[n] }); i >= 0 {
			s.errorf("script/nodelist-name", s.at(o), "there is no node %s: Slurm says \"Invalid node name specified\"", names[i])
		}
	}
}

// nodeNames are the names of all nodes; none if not all are known.
func (f *Facts) nodeNames() map[string]bool {
	all := map[string]bool{}
	for _, q := range f.Queues {
		for _, r := range q.Resources {
			for _, k := range r.Kinds {
				for _, n := range k.Nodes {
					all[n] = true
				}
			}
		}
	}
	return all
}

// Kind are the nodes of a group that have the same features.
type Kind struct {
	Features, Nodes []string
}

// kinds are those of a queue. They are known if each of its groups has some.
func (q Queue) kinds() (all []Kind, known bool) {
	for _, r := range q.Resources {
		if len(r.Kinds) == 0 {
			return nil, false
		}
		all = append(all, r.Kinds...)
	}
	return all, len(all) > 0
}

// featureRules find features that no node has.
func (s *script) featureRules() {
	if s.facts == nil || s.parts {
		return
	}
	all := s.facts.features()
	for _, name := range []string{"constraint", "prefer"} {
		if o, ok := s.option(name); ok && !strings.ContainsAny(o.Value, "$") && len(all) > 0 {
			s.features(o, all)
		}
	}
}

// features are those of all nodes; none if not all are known.
func (f *Facts) features() (all []string) {
	for _, q := range f.Queues {
		kinds, known := q.kinds()
		if !known && q.nodes() > 0 {
			return nil
		}
		for _, k := range kinds {
			all = append(all, k.Features...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// features judges one option against all features that nodes have.
func (s *script) features(o Option, all []string) {
	c := parseConstraint(o.Value)
	words := map[string]string{"constraint": "Invalid feature specification", "prefer": "Invalid preferred feature specification"}[o.Name]
	for _, name := range c.names {
		if !slices.Contains(all, name) {
			d := s.errorf("script/constraint", s.at(o), "no node of the cluster has the feature %q: Slurm says %q", name, words)
			withThere(d, name, all)
			return
		}
	}
	if c.broken {
		s.errorf("script/constraint", s.at(o), "%s is no list of features: Slurm says %q", o.written(), words).
			WithHint("A&B is both, A|B is one of them, [A|B] is one of them for all nodes; parentheses group")
	}
}

// checkFeatures reports that no node of the partition has what --constraint asks for.
func (r room) checkFeatures() {
	c := parseConstraint(r.job.constraint.Value)
	kinds, known := r.queue.kinds()
	if r.job.constraint.Value == "" || !known || strings.Contains(r.job.constraint.Value, "$") {
		return
	}
	all := r.job.facts.features()
	if slices.ContainsFunc(c.names, func(n string) bool { return !slices.Contains(all, n) }) {
		return // that is said already
	}
	var have []string
	for _, k := range kinds {
		if holds, sure := c.holds(k.Features); holds || !sure {
			return
		}
		have = append(have, k.Features...)
	}
	slices.Sort(have)
	r.errorf("script/constraint", r.job.constraint, "%s, and no node of partition %s has that: Slurm says \"Requested node configuration is not available\"",
		r.job.constraint.written(), r.queue.Name).WithHint("its nodes have %s", strings.Join(slices.Compact(have), ", "))
}

// gresRules find generic resources that the cluster does not have.
func (s *script) gresRules() {
	o, ok := s.option("gres")
	if !ok || s.facts == nil || s.facts.GresTypes == nil {
		return
	}
	for item := range strings.SplitSeq(o.Value, ",") {
		name, _, _ := strings.Cut(strings.TrimPrefix(item, "gres:"), ":")
		if name != "" && name != "none" && name != "help" && !strings.Contains(name, "$") && !slices.Contains(s.facts.GresTypes, name) {
			s.errorf("script/gres", s.at(o), "the cluster has no generic resource %q: Slurm says \"Invalid generic resource (gres) specification\"", name).
				WithHint("%s", "there is "+strings.Join(s.facts.GresTypes, ", "))
		}
	}
}

// dependencyForms are the types of --dependency that name jobs.
var dependencyForms = []string{"after", "afterany", "afterburstbuffer", "aftercorr", "afternotok", "afterok", "expand"}

// dependencyRules find a --dependency that sbatch does not understand.
func (s *script) dependencyRules() {
	o, ok := s.option("dependency")
	if !ok || strings.ContainsAny(o.Value, "$") || o.Value == "" {
		return
	}
	for part := range strings.FieldsFuncSeq(o.Value, func(r rune) bool { return r == ',' || r == '?' }) {
		if !dependency(part) {
			s.errorf("script/dependency", s.at(o), "%q is no dependency: Slurm says \"Job dependency problem\"", part).
				WithHint("write afterok:JOB, or %s, singleton", strings.Join(dependencyForms, ", "))
			return
		}
	}
}

// dependency tells whether a part of --dependency is right: afterok:1:2, after:1+5,
// singleton, or a job's number alone.
func dependency(part string) bool {
	kind, jobs, _ := strings.Cut(part, ":")
	if kind = strings.ToLower(kind); kind == "singleton" || number(part) > 0 {
		return true
	}
	return slices.Contains(dependencyForms, kind) && jobs != "" && strings.Trim(jobs, "0123456789:+_*") == ""
}

// judgeAwaitedJobs reports a job whose exit code is waited for and that slurmctld does not know, which Slurm has refused since
// 23.02. It is false if that is not known.
func (s *script) judgeAwaitedJobs(o Option, a *Asked) bool {
	version := s.slurm()
	if told := versionsOf([]string{a.Conf["SLURM_VERSION"]}); told.known() {
		version = told
	}
	if version.before("23.02") {
		return true
	}
	for part := range strings.FieldsFuncSeq(o.Value, func(r rune) bool { return r == ',' || r == '?' }) {
		kind, jobs, _ := strings.Cut(part, ":")
		if kind = strings.ToLower(kind); !dependency(part) || kind != "afterok" && kind != "afternotok" {
			continue
		}
		if a.Jobs == nil || !version.from("23.02") {
			return false
		}
		for job := range strings.SplitSeq(jobs, ":") {
			id, _, _ := strings.Cut(job, "_")
			if id, _, _ = strings.Cut(id, "+"); slices.Contains(a.Jobs, id) {
				continue
			}
			s.errorf("script/dependency", s.at(o), "Slurm does not know job %s, or has forgotten it: it says \"Job dependency problem\"", id).
				WithHint("afterany:%s waits for no exit code, and takes a job that is gone for ended", id)
			return true
		}
	}
	return true
}
