package aws_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// TestAccounts changes a muster.yaml with accounts, loses it, and takes the accounts out of it.
func TestAccounts(t *testing.T) {
	w := newWorld(t)
	w.heads()
	const file = "Accounts: [{Name: research, Users: [ann, bob]}, {Name: nlp, Parent: research, Users: [eve]}]\nQOS: [{Name: low, Priority: 3}]\n"
	// kept is what the machines are told.
	kept := func() string {
		t.Helper()
		record, err := aws.RecordOf(w.home, "demo")
		if err != nil {
			t.Fatal(err)
		}
		b, err := store.Open(t.Context(), store.Config{Endpoint: w.URL, Region: region, Credentials: w.account.Config().Credentials, Bucket: record.Bucket})
		if err != nil {
			t.Fatal(err)
		}
		body, _, err := b.Get(t.Context(), manifest.WorkloadKey("demo"))
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, row := range []struct {
		name, workload, kept string
		want                 []string
		note                 bool
	}{
		{"new", file, file, []string{
			"add QOS low: Priority=3", "add account research: Parent=root, QOS=low,normal", "add account nlp: Parent=research",
			"add user ann to account research", "add user bob to account research", "add user eve to account nlp",
		}, false},
		{"again", file, file, nil, false},
		{"without_the_file", missing, file, nil, true},
		{"fewer", strings.Replace(file, ", bob", "", 1), strings.Replace(file, ", bob", "", 1), []string{"remove user bob from account research"}, false},
		{"none", "Buckets: []\n", "Buckets: []\n", []string{
			"remove user eve from account nlp", "remove user ann from account research", "remove account nlp", "remove account research", "remove QOS low",
		}, false},
	} {
		r := &told{t: t}
		plan, err := w.up(t.Context(), plainFile, row.workload, r)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if diff := cmp.Diff(row.want, plan.Accounts); diff != "" || plan.Empty() != (row.want == nil) {
			t.Errorf("%s: empty %v (-want +got):\n%s", row.name, plan.Empty(), diff)
		}
		var shown strings.Builder
		if err := plan.Write(&shown); err != nil {
			t.Fatal(err)
		}
		for _, line := range row.want {
			if !strings.Contains(shown.String(), "\n  "+line+"\n") {
				t.Errorf("%s: the plan does not show %q:\n%s", row.name, line, &shown)
			}
		}
		if got := kept(); got != row.kept {
			t.Errorf("%s: the machines are told %q", row.name, got)
		}
		said := slices.ContainsFunc(r.notes, func(n string) bool {
			return strings.HasPrefix(n, "there is no muster.yaml beside the cluster file: cluster demo keeps the one that it has")
		})
		if said != row.note {
			t.Errorf("%s: notes %q", row.name, r.notes)
		}
	}
}
