package cli

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job"
)

// The list has columns for accounts where a job has another than everybody's, and only there.
func TestWriteJobs_shows_accounts_where_they_are_used(t *testing.T) {
	plain := []job.Row{{ID: 1, Label: "1", Name: "a", User: "root", Account: "root", QOS: "normal", State: "RUNNING", NumNodes: 1, NodeList: "q-1"}}
	for name, c := range map[string]struct {
		rows []job.Row
		want string
	}{
		"none": {plain, "ID  NAME  USER  STATE    TIME  NODES  WHERE OR WHY\n1   a     root  RUNNING  0:00  1      q-1\n"},
		"some": {append(plain, job.Row{ID: 2, Label: "2", Name: "b", User: "ann", Account: "nlp", QOS: "high", Priority: 1100000, State: "PENDING", NumNodes: 2, Why: "waits for free nodes"}),
			"ID  NAME  USER  ACCOUNT  QOS     PRIORITY  STATE    TIME  NODES  WHERE OR WHY\n" +
				"1   a     root  root     normal            RUNNING  0:00  1      q-1\n" +
				"2   b     ann   nlp      high    1100000   PENDING  0:00  2      waits for free nodes\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems strings.Builder
			a := &app{out: &out, err: &problems}
			if err := a.writeJobs(jobsAnswer{Jobs: c.rows}); err != nil || problems.Len() > 0 {
				t.Fatal(err, problems.String())
			}
			if out.String() != c.want {
				t.Errorf("got\n%swant\n%s", out.String(), c.want)
			}
		})
	}
}

func TestAccountText(t *testing.T) {
	for want, j := range map[string]jobAnswer{
		"":                                  {Account: "root", QOS: "normal"},
		"nlp, QOS normal":                   {Account: "nlp", QOS: "normal"},
		"none, QOS high, priority 12":       {QOS: "high", Priority: 12},
		"research, QOS high, priority 9000": {Account: "research", QOS: "high", Priority: 9000},
	} {
		if got := j.accountText(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
