package local

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormer changes a cluster's file, again where the first change did not work, and
// looks which one it says to go back to.
func TestFormer(t *testing.T) {
	ref := Ref{Home: t.TempDir(), Name: "u"}
	l := ref.Layout()
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	dead := errors.New("dead")
	change := func(works bool, source, workload string) {
		t.Helper()
		err := keepFormer(l, works, []byte(source))
		err = errors.Join(err, os.WriteFile(l.Path("cluster.yaml"), []byte(source), 0o600), os.WriteFile(l.Path("muster.yaml"), []byte(workload), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	change(false, "one", "w1")
	if err := orFormer(l, ref.Name, dead); err != dead { //nolint:errorlint // the very same
		t.Errorf("the first `up` says %v", err)
	}
	change(true, "two", "w2")
	change(false, "three", "")
	hint := "`muster up --cluster u " + l.Path(formerDir, "cluster.yaml") + "`"
	if err := orFormer(l, ref.Name, dead); !errors.Is(err, dead) || !strings.Contains(err.Error(), hint) {
		t.Errorf("a change that failed says %v", err)
	}
	if err := orFormer(l, ref.Name, nil); err != nil {
		t.Error(err)
	}
	got := map[string]string{}
	for _, name := range []string{"cluster.yaml", "muster.yaml"} {
		text, _ := os.ReadFile(l.Path(formerDir, name))
		got[name] = string(text)
	}
	if diff := cmp.Diff(map[string]string{"cluster.yaml": "one", "muster.yaml": "w1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := dropFormer(l); err != nil {
		t.Fatal(err)
	}
	change(true, "four", "w4")
	if text, err := os.ReadFile(l.Path(formerDir, "muster.yaml")); err != nil || string(text) != "{}\n" {
		t.Errorf("the former cluster had no muster.yaml, and gets %q, %v", text, err)
	}
	if err := dropFormer(l); err != nil {
		t.Fatal(err)
	}
	if err := orFormer(l, ref.Name, dead); err != dead { //nolint:errorlint // the very same
		t.Errorf("a cluster that works has a former file: %v", err)
	}
}
