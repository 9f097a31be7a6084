package local

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// TestDamagedRecord has a cluster.json that makes no sense: what it says is clear, and names what takes the rest away.
func TestDamagedRecord(t *testing.T) {
	ref := Ref{Home: t.TempDir(), Name: "u"}
	l := ref.Layout()
	if _, _, _, err := ref.Running(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a cluster: %v", err)
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":               "it is empty",
		`{"name": "u`:    "it ends too early: it was cut off",
		`{"uid": "root"`: "it ends too early: it was cut off",
		`{"uid": "a"}`:   "uid has a text where something else belongs",
	} {
		if err := os.WriteFile(l.Path("cluster.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want = "read " + l.Path("cluster.json") + ": " + want + "; `muster down --cluster u` takes away what there is of the cluster"
		if _, _, _, err := ref.Running(); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
