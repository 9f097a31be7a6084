package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// repeat adds a flag that may be given several times. Pflag's own writes each such
// flag's default as CSV whenever a program starts, in a buffer of 4 KB.
func repeat(s *pflag.FlagSet, into *[]string, name, usage string) {
	s.Var((*texts)(into), name, usage)
}

// texts are what a flag was given, in order.
type texts []string

func (t *texts) String() string { return strings.Join(*t, " ") }

func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

// Type is the name that pflag's own has.
func (t *texts) Type() string { return "stringArray" }
