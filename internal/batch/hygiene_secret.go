package batch

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// secretForms are texts that are keys and nothing else, and what they are. A line
// without the sign has none of them: that is soon seen.
var secretForms = []struct {
	sign string
	form func() *regexp.Regexp
	what string
}{
	{"IA", pattern.New(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), "an access key of AWS"},
	{"hf_", pattern.New(`\bhf_[A-Za-z0-9]{30,}\b`), "a token of Hugging Face"},
	{"_", pattern.New(`\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_\w{30,}\b`), "a token of GitHub"},
	{"glpat-", pattern.New(`\bglpat-[\w-]{20,}`), "a token of GitLab"},
	{"sk-", pattern.New(`\bsk-(?:proj-|ant-)?[\w-]{30,}`), "a key of an AI service"},
	{"nvapi-", pattern.New(`\bnvapi-[\w-]{30,}`), "a key of NVIDIA's registry"},
	{"xox", pattern.New(`\bxox[abprs]-[\w-]{10,}`), "a token of Slack"},
	{"-----BEGIN", pattern.New(`-----BEGIN [A-Z ]*PRIVATE KEY-----`), "a private key"},
}

var (
	secretNames = pattern.New(`(?i)(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY)$`)
	passwords   = pattern.New(`(?i)PASS(WORD|WD)$`)
	secretFlags = pattern.New(`(?i)^--?(?:[\w-]*[-_])?(?:token|password|api[-_]?key|secret)$`)
	inAddress   = pattern.New(`\w+://[^/\s:@"']+:([^/\s:@"'$]{4,})@`)
	placeholder = pattern.New(`(?i)^(your|my|change|replace|todo|none|null|dummy|offline|false|true|disabled?$|example|xxx|pad|eos|bos|mask)|^[<\[{(*./~]|EXAMPLE`)
)

// minSecret is the least length of what we take for a password.
const minSecret = 8

// secret is a text that others must not read, and where it stands.
type secret struct {
	text string
	diag.Place
}

// secrets reports what others may read: scripts are kept, copied and committed,
// and Slurm shows them to all who may see the job.
func (s *script) secrets() []secret {
	var all []secret
	found := func(text string, at diag.Place, message string, args ...any) {
		if slices.ContainsFunc(all, func(o secret) bool { return o.Line == at.Line }) {
			return
		}
		all = append(all, secret{text, at})
		s.errorf("script/secret", at, message, args...).
			WithHint("revoke it, and let the job read it: export NAME=$(< ~/.secrets/name), in a file that only you can read")
	}
	for n, start := range s.file.starts {
		line := string(s.file.line(n + 1))
		for _, f := range secretForms {
			if !strings.Contains(line, f.sign) {
				continue
			}
			if at := f.form().FindStringIndex(line); at != nil && !placeholder().MatchString(line[at[0]:at[1]]) {
				found(line[at[0]:at[1]], s.file.place(start+at[0]), "this is %s, for all who see the script or the job", f.what)
			}
		}
		if !strings.Contains(line, "://") {
			continue
		}
		if at := inAddress().FindStringSubmatchIndex(line); at != nil && secretText(line[at[2]:at[3]]) {
			found(line[at[2]:at[3]], s.file.place(start+at[2]), "this is a password in an address, for all who see the script or the job")
		}
	}
	for _, v := range s.environment() {
		if secretNames().MatchString(v.name) && v.whole() && secretText(v.text) && (digits(v.text) || passwords().MatchString(v.name)) {
			found(v.text, v.Place, "%s is written out, for all who see the script or the job", v.name)
		}
	}
	for _, c := range s.commands {
		if w, ok := c.secret(); ok {
			found(w.text, w.Place, "a secret is written out, for all who see the script or the processes of the node")
		}
	}
	return all
}

// secret is the value of an option such as --token, or the key of wandb login.
func (c *command) secret() (word, bool) {
	args := c.args()
	for i, a := range args {
		name, text, has := strings.Cut(a.text, "=")
		if !has && i+1 < len(args) {
			text = args[i+1].text
		}
		if secretFlags().MatchString(name) && a.whole() && secretText(text) && digits(text) {
			a.text = text
			return a, true
		}
		if c.name == "wandb" && i > 0 && args[0].text == "login" && hexKey().MatchString(a.text) {
			return a, true
		}
	}
	return word{}, false
}

var hexKey = pattern.New(`^[0-9a-f]{32,}$`)

// digits tells whether a text has some. Keys have; the names of tokens of a
// vocabulary have not.
func digits(text string) bool { return strings.ContainsAny(text, "0123456789") }

// secretText tells whether a text may be a password, and is no name of one.
func secretText(text string) bool {
	return utf8.RuneCountInString(text) >= minSecret && !strings.ContainsAny(text, " \t\n$"+string(hole)) && !placeholder().MatchString(text)
}

// hide takes secrets out of all problems: those that speak of other things of the
// line show it, too.
func hide(list *diag.List, secrets []secret) *diag.List {
	if len(secrets) == 0 {
		return list
	}
	slices.SortStableFunc(secrets, func(a, b secret) int { return len(b.text) - len(a.text) }) // one may begin as another does
	var replaced []string
	for _, x := range secrets {
		replaced = append(replaced, x.text, strings.Repeat("*", utf8.RuneCountInString(x.text)))
	}
	hidden := strings.NewReplacer(replaced...)
	out := &diag.List{}
	for _, d := range list.All() {
		d.Source, d.Message, d.Hint = hidden.Replace(d.Source), hidden.Replace(d.Message), hidden.Replace(d.Hint)
		out.Append(d)
	}
	return out
}
