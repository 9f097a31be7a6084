package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/muster-hpc/muster/internal/diag"
)

// Limits are far more than anybody needs; they keep what is no wish at all out of state files.
const (
	maxRestarts    = 10000
	maxSpan        = 30 * 24 * time.Hour
	maxPath        = 4096 // PATH_MAX
	maxPattern     = 2000
	maxCheckpoints = 100
)

// tooMany is said once: one more directory too many tells nothing new.
var tooMany = &refusal{which: fmt.Sprintf("is one directory too many: %d may be named", maxCheckpoints)}

func setCheckpoints(p *Policy, value string) *refusal {
	switch {
	case strings.ContainsFunc(value, unicode.IsControl), len(value) > maxPath:
		return &refusal{which: "is no directory's name"}
	case strings.Contains(value, "$"), strings.HasPrefix(value, "~"):
		return &refusal{"stays as it is: no shell reads it", "write the whole path"}
	case len(p.Checkpoints) == maxCheckpoints:
		return tooMany
	case !slices.Contains(p.Checkpoints, value):
		p.Checkpoints = append(slices.Clip(p.Checkpoints), value)
	}
	return nil
}

func setRestarts(p *Policy, value string) *refusal {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxRestarts {
		return &refusal{"is no number of restarts", fmt.Sprintf("a number from 0 to %d", maxRestarts)}
	}
	p.Restarts = n
	return nil
}

// choose takes one of some words.
func choose[T ~string](into *T, value string, words ...T) *refusal {
	if slices.Contains(words, T(value)) {
		*into = T(value)
		return nil
	}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	if near := diag.Nearest(value, texts); near != "" {
		return &refusal{"is none of " + listed(texts), "did you mean " + near + "?"}
	}
	return &refusal{which: "is none of " + listed(texts)}
}

func listed(words []string) string { return strings.Join(words, ", ") }

// spans is the hint on how lengths of time are written.
const spans = "write 90s, 10m, 2h or 1h30m"

// leastMark begins a --hang by which the rhythm says when a job hangs, but no sooner than after some time.
const leastMark = "auto:"

func setHang(p *Policy, value string) *refusal {
	h, ok := parseHang(value)
	if !ok {
		return &refusal{"is neither auto nor off nor a length of time", spans}
	}
	p.Hang = h
	return nil
}

func parseHang(value string) (Hang, bool) {
	switch value {
	case "auto":
		return Hang{}, true
	case "off":
		return Hang{Off: true}, true
	}
	if least, ok := strings.CutPrefix(value, leastMark); ok {
		d, ok := parseSpan(least)
		return Hang{Least: d}, ok
	}
	d, ok := parseSpan(value)
	return Hang{Limit: d}, ok
}

func setStartUp(p *Policy, value string) *refusal {
	d, ok := parseSpan(value)
	if !ok {
		return &refusal{"is no length of time", spans}
	}
	p.StartUp = Span(d)
	return nil
}

// parseSpan reads a length of time. A number without a unit is none: Slurm takes such for minutes,
// others for seconds.
func parseSpan(value string) (time.Duration, bool) {
	d, err := time.ParseDuration(value)
	return d, err == nil && d >= time.Second && d <= maxSpan
}

func setLogPattern(p *Policy, value string) *refusal {
	if len(value) > maxPattern {
		return &refusal{which: fmt.Sprintf("is longer than %d characters", maxPattern)}
	}
	pattern, err := regexp.Compile(value)
	if err != nil {
		return &refusal{"is no regular expression: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "), "they are written as in https://github.com/google/re2/wiki/Syntax"}
	}
	named := slices.DeleteFunc(pattern.SubexpNames(), func(n string) bool { return n == "" })
	for _, name := range named {
		if slices.Contains(Groups(), name) {
			continue
		}
		if near := diag.Nearest(name, Groups()); near != "" {
			return &refusal{"has a group " + name + ", which stands for nothing", "did you mean " + near + "?"}
		}
		return &refusal{"has a group " + name + ", which stands for nothing", "there are " + listed(Groups())}
	}
	if len(named) == 0 {
		return &refusal{"has no named group", `write (?P<step>\d+) where the step stands; there are ` + listed(Groups())}
	}
	p.LogPattern = value
	return nil
}

func setModel(p *Policy, value string) *refusal {
	if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '/' }) {
		return &refusal{which: "is no model's name"}
	}
	p.Model = value
	return nil
}
