package local

import (
	"os"
	"testing"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

func TestMadeOf(t *testing.T) {
	home := t.TempDir()
	r := Ref{Home: home, Name: "c"}
	l := r.Layout()
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := keepMadeOf(l); err != nil || r.madeOf() != "" {
		t.Errorf("of no cluster: %v, %q", err, r.madeOf())
	}
	if err := whole.JSON(l.Path("cluster.json"), nodes.Record{Name: "c", File: "/files/odd\nname.yaml"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a `down` that was cut off goes on without the record
		if err := keepMadeOf(l); err != nil || r.madeOf() != "/files/odd\nname.yaml" {
			t.Errorf("got %v, %q", err, r.madeOf())
		}
		_ = os.Remove(l.Path("cluster.json"))
	}
	if err := os.WriteFile(l.Path(madeOfFile), []byte("junk"), 0o644); err != nil || r.madeOf() != "" {
		t.Errorf("junk is %q, %v", r.madeOf(), err)
	}
}
