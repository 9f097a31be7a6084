package container

import (
	"errors"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// srunFlags are our flags in a text, whose names srun's options have behind container-.
var srunFlags = pattern.New(`(^|[^-\w])--((?:no-)?(?:mounts|workdir|name|writable|readonly|mount-home|remap-root|entrypoint-log|entrypoint|env|unshare|save))\b`)

// toSrun is a text with srun's names of our options.
func toSrun(text string) string {
	return srunFlags().ReplaceAllStringFunc(text, func(found string) string {
		before, name, _ := strings.Cut(found, "--")
		if name, no := strings.CutPrefix(name, "no-"); no {
			return before + "--no-container-" + name
		}
		return before + "--container-" + name
	})
}

// errorToSrun is an error with srun's names of our options. The kernel's part of it
// begins with a capital, as in all of Slurm's: scripts look for that.
func errorToSrun(err error) string {
	text := toSrun(err.Error())
	if call := (*callError)(nil); errors.As(err, &call) {
		reason := call.errno.Error()
		text = strings.ReplaceAll(text, reason, strings.ToUpper(reason[:1])+reason[1:])
	}
	return text
}

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

func withHint(err error, hint string) error { return hinted{error: err, hint: hint} }

// Hint is what to do about an error; empty if it says so itself.
func Hint(err error) string {
	h, _ := errors.AsType[hinted](err)
	return h.hint
}
