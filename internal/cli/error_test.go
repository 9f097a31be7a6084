package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/fault"
)

func TestHintIn(t *testing.T) {
	for _, row := range []struct{ text, hint string }{
		{"there is no cluster x; did you mean u?", "did you mean u?"},
		{"there is no cluster x; there is u, v", ""},
		{"there is no cluster; `muster up FILE` makes one", "`muster up FILE` makes one"},
		{"cluster a does not run; `muster up` starts it again", "`muster up` starts it again"},
		{"there is no cluster x; there is u; or say with --dir where the images are", "or say with --dir where the images are"},
		{"no cluster; `a` makes one; `b` deletes it", "`a` makes one; `b` deletes it"},
		{"cannot; because; see `x --help`", "see `x --help`"},
		{"sbatch does not take it: one; two", ""},
		{"", ""},
	} {
		if got := hintIn(row.text); got != row.hint {
			t.Errorf("the hint in %q is %q, want %q", row.text, got, row.hint)
		}
	}
}

func TestAsksJSON(t *testing.T) {
	for _, row := range []struct {
		line string
		want bool
	}{
		{"nodes -o json", true}, {"nodes -ojson", true}, {"nodes --output json", true}, {"nodes --output=json", true}, {"-o=json nodes", true},
		{"nodes", false}, {"nodes -o text", false}, {"exec -- x -o json", false}, {"nodes -o", false},
	} {
		if got := asksJSON(strings.Fields(row.line)); got != row.want {
			t.Errorf("%q: got %t, want %t", row.line, got, row.want)
		}
	}
}

func TestErrorsForPeopleAndPrograms(t *testing.T) {
	problems := &diag.List{}
	problems.Warnf("a/b", "", "not nice")
	problems.Errorf("queue/count", "", "too few").WithHint("write more")
	ended, end := context.WithCancel(t.Context())
	end()
	for name, row := range map[string]struct {
		ctx        context.Context
		err        error
		exit       int
		text, json string
	}{
		"nothing":       {err: nil},
		"a_problem":     {err: errors.New("no <luck>"), exit: 1, text: "muster: no <luck>\n", json: `{"error":"no <luck>","code":"problem","exit":1}` + "\n"},
		"a_wrong_line":  {err: fault.Usage(errors.New("what; see `x`")), exit: 2, text: "muster: what; see `x`\n", json: `{"error":"what; see ` + "`x`" + `","hint":"see ` + "`x`" + `","code":"usage","exit":2}` + "\n"},
		"a_code":        {err: fault.Usage(fault.Coded(fault.CodeSeveral, "which")), exit: 2, text: "muster: which\n", json: `{"error":"which","code":"cluster/several","exit":2}` + "\n"},
		"stopped":       {ctx: ended, err: errors.New("x"), exit: 130, text: "muster: stopped\n", json: `{"error":"stopped","code":"stopped","exit":130}` + "\n"},
		"told_stopped":  {err: fault.Exit(130), exit: 130, json: `{"error":"stopped","code":"stopped","exit":130}` + "\n"},
		"with_answer":   {err: fault.Exit(3), exit: 3},
		"of_files":      {err: problems, exit: 1, text: "muster: too few\n", json: `{"error":"too few","hint":"write more","code":"queue/count","exit":1,"problems":[{"severity":"warning","code":"a/b","message":"not nice"},{"severity":"error","code":"queue/count","message":"too few","hint":"write more"}]}` + "\n"},
		"of_a_question": {err: errNoTerminal, exit: 2, text: "muster: this needs a yes: give --yes, or run it on a terminal\n", json: `{"error":"this needs a yes: give --yes, or run it on a terminal","code":"question","exit":2}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for output, want := range map[string]string{"text": row.text, "json": row.json} {
				var said strings.Builder
				ctx := row.ctx
				if ctx == nil {
					ctx = t.Context()
				}
				if got := (&app{err: &said, output: output}).exit(ctx, row.err); got != row.exit || said.String() != want {
					t.Errorf("%s: exit code %d, want %d; it says\n%swant\n%s", output, got, row.exit, said.String(), want)
				}
			}
		})
	}
}

// TestEveryCommandSaysWhatItAnswers holds the list of answers in docs/commands.md, and
// that of the codes of errors.
func TestEveryCommandSaysWhatItAnswers(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, answers, _ := strings.Cut(string(text), "| command | answers with |")
	answers, codes, _ := strings.Cut(answers, "## Errors as JSON")
	walk((&app{}).root(), func(c *cobra.Command) {
		if c.Hidden || c.HasSubCommands() || !c.HasParent() || c.Parent().Hidden {
			return
		}
		words := strings.Fields(c.CommandPath())[1:]
		name := strings.Join(words, " ")
		if words[0] == "completion" {
			name = words[0]
		}
		if !strings.Contains(answers, "`"+name+"`") {
			t.Errorf("docs/commands.md does not say what `muster %s` answers with -o json", name)
		}
	})
	for _, code := range []string{fault.CodeUsage, fault.CodeStopped, fault.CodeProblem, fault.CodeNone, fault.CodeUnknown, fault.CodeSeveral, fault.CodeDown, fault.CodeForeign, fault.CodeJob, fault.CodeQuestion} {
		if !slices.Contains(strings.Fields(codes), "`"+code+"`") {
			t.Errorf("docs/commands.md does not have the code %s", code)
		}
	}
}
