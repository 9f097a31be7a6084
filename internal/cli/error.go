package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

// errorAnswer is the last line on stderr where -o json is asked for and there is no
// answer.
type errorAnswer struct {
	// Error is what people are told, Hint the part of it that says what to do.
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	Code  string `json:"code"`
	Exit  int    `json:"exit"`
	// Problems are those of the user's files.
	Problems []diag.Diagnostic `json:"problems,omitempty"`
}

// exit tells the user about an error, once, and returns the exit code.
func (a *app) exit(ctx context.Context, err error) int {
	if err == nil {
		return fault.ExitDone
	}
	var passed fault.PassedOn
	if errors.As(err, &passed) {
		return int(passed)
	}
	a.endProgress()
	answer, said := answerOf(err, ctx.Err() != nil)
	switch {
	case a.wantsJSON(answer.Code) && (!said || answer.Exit == fault.ExitInterrupted):
		out := json.NewEncoder(a.err)
		out.SetEscapeHTML(false)
		_ = out.Encode(answer) // stdout is the only place for it
	case !said:
		fmt.Fprint(a.err, page.PrintableLines("muster: "+answer.Error))
	}
	return answer.Exit
}

// wantsJSON tells whether errors are to be JSON. A command line that was not
// understood was not read to its end.
func (a *app) wantsJSON(code string) bool {
	return a.output == "json" || code == fault.CodeUsage && asksJSON(os.Args[1:])
}

// answerOf is an error for the user, and whether it was shown already.
func answerOf(err error, stopped bool) (answer errorAnswer, said bool) {
	var code fault.Exit
	var problems *diag.List
	var usage fault.UsageError
	var own fault.CodedError
	switch {
	case errors.As(err, &problems):
		return ofProblems(problems), false
	case errors.As(err, &code):
		return errorAnswer{Error: "stopped", Code: fault.CodeStopped, Exit: int(code)}, true
	case stopped:
		return errorAnswer{Error: "stopped", Code: fault.CodeStopped, Exit: fault.ExitInterrupted}, false
	}
	answer = errorAnswer{Error: err.Error(), Hint: hintIn(err.Error()), Code: fault.CodeProblem, Exit: fault.ExitProblem}
	if errors.As(err, &usage) {
		answer.Code, answer.Exit = fault.CodeUsage, fault.ExitUsage
	}
	if errors.As(err, &own) {
		answer.Code = own.Code
	}
	return answer, false
}

// ofProblems has the first error of a file's problems, and all of them.
func ofProblems(list *diag.List) errorAnswer {
	answer := errorAnswer{Error: list.Error(), Code: fault.CodeProblem, Exit: fault.ExitProblem, Problems: list.All()}
	for _, d := range answer.Problems {
		if d.Severity == diag.Error {
			answer.Hint, answer.Code = d.Hint, d.Code
			break
		}
	}
	return answer
}

// hintIn is the part of an error that says what to do: behind a semicolon, with a
// command or a question.
func hintIn(text string) string {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "; ")
		if !found {
			return ""
		}
		if strings.Contains(after, "`") && !strings.Contains(after, "; ") || doing(after) {
			return after
		}
		rest = after
	}
}

// doing reports whether a clause is an instruction.
func doing(clause string) bool {
	for _, verb := range []string{"did you mean", "say ", "give ", "leave ", "choose ", "use ", "see ", "put ", "run ", "or say ", "`"} {
		if strings.HasPrefix(clause, verb) {
			return true
		}
	}
	return false
}

// asksJSON tells whether a command line has -o json, in any of its forms.
func asksJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--" {
			return false
		}
		switch arg {
		case "-ojson", "-o=json", "--output=json":
			return true
		case "-o", "--output":
			if i+1 < len(args) && args[i+1] == "json" {
				return true
			}
		}
	}
	return false
}
