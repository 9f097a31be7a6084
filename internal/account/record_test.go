package account_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/account"
)

// A record is read as it was written, with the change that was begun; one that is not there is empty.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.json")
	if r, err := account.Load(path); err != nil || !r.Empty() {
		t.Errorf("%+v, %v", r, err)
	}
	user := account.Change{Verb: account.Add, Kind: account.User, Name: "ann", Of: "nlp"}
	want := account.Record{}.After(account.Change{Verb: account.Add, Kind: account.Account, Name: "nlp", Set: map[string]string{"MaxJobs": "4"}}).After(user).After(user).
		Before(account.Change{Verb: account.Delete, Kind: account.QOS, Name: "low"})
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := account.Load(path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" || len(got.Users["nlp"]) != 1 {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
