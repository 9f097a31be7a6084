package policy

import (
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// Option is one of the options that a policy has.
type Option struct {
	// Name is without dashes, Value what its value is called; "" takes none.
	Name, Value string
	// Help says what it does, for a list of options.
	Help string
	// Many says that it may come several times.
	Many bool

	// set takes a value, or says what is wrong with it, as it goes on from `is "x", which`.
	set func(p *Policy, value string) *refusal
	// words are the values that the option has to be given for a policy.
	words func(p Policy) []string
}

// refusal is why a value is none.
type refusal struct{ which, hint string }

// Options are all of them, in the order in which they are shown.
func Options() []Option {
	return []Option{
		{Name: "checkpoints", Value: "DIR", Many: true, Help: "where the job's checkpoints are; may be repeated",
			set: setCheckpoints, words: func(p Policy) []string { return p.Checkpoints }},
		{Name: "restarts", Value: "N", Help: "how often the job may be started again (default 10)",
			set: setRestarts, words: func(p Policy) []string { return unless(p.Restarts == defaultRestarts, strconv.Itoa(p.Restarts)) }},
		{Name: "on-failure", Value: "auto|requeue|stop", Help: "when the job fails: start it again if that can help (auto), in any case, or never",
			set: func(p *Policy, v string) *refusal {
				return choose(&p.OnFailure, v, FailureAuto, FailureRequeue, FailureStop)
			},
			words: func(p Policy) []string { return unless(p.OnFailure == FailureAuto, string(p.OnFailure)) }},
		{Name: "hang", Value: "auto|off|DURATION", Help: "how long the job may be without a step before it hangs (auto: its own rhythm says so)",
			set: setHang, words: func(p Policy) []string { return unless(p.Hang == Hang{}, p.Hang.String()) }},
		{Name: "on-hang", Value: "requeue|stop|tell", Help: "when the job hangs: start it again (default), end it, or only say so",
			set:   func(p *Policy, v string) *refusal { return choose(&p.OnHang, v, HangRequeue, HangStop, HangTell) },
			words: func(p Policy) []string { return unless(p.OnHang == HangRequeue, string(p.OnHang)) }},
		{Name: "start-up", Value: "DURATION", Help: "how long the job may take until its first step",
			set: setStartUp, words: func(p Policy) []string { return unless(p.StartUp == 0, p.StartUp.String()) }},
		{Name: "log-pattern", Value: "REGEXP", Help: "finds steps in the output, by groups named step, loss, lr, samples_per_second, tokens_per_second or others",
			set: setLogPattern, words: func(p Policy) []string { return unless(p.LogPattern == "", p.LogPattern) }},
		{Name: "model", Value: "NAME", Help: "the model of muster.yaml that the job trains",
			set: setModel, words: func(p Policy) []string { return unless(p.Model == "", p.Model) }},
		{Name: "no-drain", Help: "leave nodes at fault in service",
			set:   func(p *Policy, _ string) *refusal { p.NoDrain = true; return nil },
			words: func(p Policy) []string { return unless(!p.NoDrain, "") }},
	}
}

// Groups are the names that groups of a log pattern may have.
func Groups() []string { return trainlog.GroupNames() }

// Words are the options by which a policy differs from the default, as a command line has them.
func (p Policy) Words() []string {
	var all []string
	for _, o := range Options() {
		for _, value := range o.words(p) {
			all = append(all, o.word(value))
		}
	}
	return all
}

// word is the option with a value.
func (o Option) word(value string) string {
	if o.Value == "" {
		return "--" + o.Name
	}
	return "--" + o.Name + "=" + value
}

// option finds an option by its name.
func option(name string) (Option, bool) {
	all := Options()
	i := slices.IndexFunc(all, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return Option{}, false
	}
	return all[i], true
}

func unless(isDefault bool, value string) []string {
	if isDefault {
		return nil
	}
	return []string{value}
}
