package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// Codes of errors, for programs. They never change their meaning; docs/commands.md
// lists them.
const (
	codeUsage    = "usage"
	codeStopped  = "stopped"
	codeProblem  = "problem"
	codeNone     = "cluster/none"
	codeUnknown  = "cluster/unknown"
	codeSeveral  = "cluster/several"
	codeDown     = "cluster/down"
	codeForeign  = "cluster/foreign"
	codeJob      = "job/unknown"
	codeQuestion = "question"
)

// codedError is an error with a code of its own.
type codedError struct {
	code string
	error
}

func (e codedError) Unwrap() error { return e.error }

// coded gives an error that is written here a code.
func coded(code, format string, args ...any) error {
	return codedError{code, fmt.Errorf(format, args...)}
}

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
		return exitDone
	}
	var passed passedOn
	if errors.As(err, &passed) {
		return int(passed)
	}
	answer, said := answerOf(err, ctx.Err() != nil)
	switch {
	case a.wantsJSON(answer.Code) && (!said || answer.Exit == exitInterrupted):
		out := json.NewEncoder(a.err)
		out.SetEscapeHTML(false)
		_ = out.Encode(answer) // nobody is left to tell
	case !said:
		fmt.Fprint(a.err, printableLines("muster: "+answer.Error))
	}
	return answer.Exit
}

// wantsJSON tells whether errors are to be JSON. A command line that was not
// understood was not read to its end.
func (a *app) wantsJSON(code string) bool {
	return a.output == "json" || code == codeUsage && asksJSON(os.Args[1:])
}

// answerOf is what there is to say of an error, and whether it was said already.
func answerOf(err error, stopped bool) (answer errorAnswer, said bool) {
	var code exitCode
	var problems *diag.List
	var usage usageError
	var own codedError
	switch {
	case errors.As(err, &problems):
		return ofProblems(problems), false
	case errors.As(err, &code):
		return errorAnswer{Error: "stopped", Code: codeStopped, Exit: int(code)}, true
	case stopped:
		return errorAnswer{Error: "stopped", Code: codeStopped, Exit: exitInterrupted}, false
	}
	answer = errorAnswer{Error: err.Error(), Hint: hintIn(err.Error()), Code: codeProblem, Exit: exitProblem}
	if errors.As(err, &usage) {
		answer.Code, answer.Exit = codeUsage, exitUsage
	}
	if errors.As(err, &own) {
		answer.Code = own.code
	}
	return answer, false
}

// ofProblems is what there is to say of problems of files: the first error, and all.
func ofProblems(list *diag.List) errorAnswer {
	answer := errorAnswer{Error: list.Error(), Code: codeProblem, Exit: exitProblem, Problems: list.All()}
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

// doing tells whether a clause tells somebody to do something.
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
