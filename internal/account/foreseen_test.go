package account_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/account"
)

// What is foreseen of two files is what is done to a database that has the first and no more.
func TestForeseen_is_what_is_done(t *testing.T) {
	const fewer = "{Accounts: [{Name: research, Users: [ann]}]}"
	for _, row := range []struct{ name, from, to string }{
		{"new", "{}", full}, {"less", full, less}, {"more", less, full}, {"gone", full, "{}"}, {"other", less, fewer}, {"same", full, full},
		{"root", "{Accounts: [{Name: root, MaxJobs: 3, Users: [bin]}]}", "{Accounts: [{Name: root, Users: [bin]}]}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(t, row.from, -1)
			var want, got []string
			for _, c := range account.Foreseen("c", workload(t, row.from), workload(t, row.to)) {
				want = append(want, strings.Join(c.Args, " "))
			}
			w.ran = nil
			w.apply(t, row.to, -1)
			for _, args := range w.ran {
				got = append(got, strings.Join(args, " "))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-foreseen +done):\n%s", diff)
			}
		})
	}
	if got := account.Foreseen("c", nil, workload(t, "{QOS: [{Name: low}]}")); len(got) != 1 || got[0].Text != "add QOS low" {
		t.Errorf("from nothing: %v", got)
	}
}

// Whatever else there is to read, nobody misses what is taken away.
func TestLines_say_each_loss(t *testing.T) {
	var all []account.Change
	for range 40 {
		all = append(all, account.Change{Verb: account.Add, Text: "add"})
	}
	all = append(all, account.Change{Verb: account.Delete, Text: "remove account a"}, account.Change{Verb: account.Delete, Text: "remove QOS b"})
	want := []string{"add", "add", "add", "add", "add", "add", "remove account a", "remove QOS b", "and 34 more, which remove no account, user or QOS"}
	if diff := cmp.Diff(want, account.Lines(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[6:8], account.Losses(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
