package cli

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

// answerFiles answers about files. Those that failed are told one by one, and are a problem.
func (a *app) answerFiles(answer interface{ text() string }, list []data.Problem, failed int64) error {
	a.tellProblems(list, failed)
	if err := a.answer(answer, func() error {
		_, err := fmt.Fprintln(a.out, answer.text())
		return err
	}); err != nil {
		return err
	}
	if failed > 0 {
		return fault.Exit(fault.ExitProblem)
	}
	return nil
}

// toldOf is how many troubles of a kind are told one by one; -o json has more.
const toldOf = 20

// tellProblems shows what is wrong with files.
func (a *app) tellProblems(list []data.Problem, all int64) {
	tellFirst(a, list, all, func(p data.Problem) string { return p.Path + ": " + p.Why })
}

// tellNames says the same of each name.
func (a *app) tellNames(format string, names []string, all int64) {
	tellFirst(a, names, all, func(name string) string { return fmt.Sprintf(format, name) })
}

// tellFirst tells the first ones of a list, which has some of all.
func tellFirst[T any](a *app, list []T, all int64, line func(T) string) {
	for _, one := range list[:min(len(list), toldOf)] {
		fmt.Fprintln(a.err, "muster: "+page.Printable(line(one)))
	}
	if all > toldOf {
		fmt.Fprintf(a.err, "muster: and %d more\n", all-toldOf)
	}
}
