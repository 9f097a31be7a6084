package spec_test

import (
	"bytes"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

func mender(o spec.Options) diag.Mender {
	return diag.Mender{
		Check: func(text []byte) *diag.List {
			f := spec.OpenText("cluster.yaml", text, o)
			f.Finish()
			return f.Problems
		},
		Keeps: yamledit.CommentsKept,
	}
}

// FuzzFix holds what fixes promise for any text: what comes out is YAML, has all
// comments and no more errors, and is not changed again.
func FuzzFix(f *testing.F) {
	f.Add([]byte(base(f)))
	f.Add([]byte(read(f, "testdata/bad/guide.yaml")))
	for _, row := range edits {
		f.Add([]byte(row.before))
	}
	for _, row := range fixes {
		f.Add([]byte(row.before))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := mender(spec.Options{AWS: true})
		before := m.Check(data)
		done := m.Mend(data)
		if done.Left.Count(diag.Error) > before.Count(diag.Error) {
			t.Errorf("%d errors became %d", before.Count(diag.Error), done.Left.Count(diag.Error))
		}
		if len(done.Fixed) == 0 {
			if !bytes.Equal(data, done.Text) {
				t.Error("nothing was fixed, but the text is another")
			}
			return
		}
		if !yamledit.CommentsKept(data, done.Text) {
			t.Errorf("a comment is lost, or it is no YAML:\n%s", done.Text)
		}
		if again := m.Mend(done.Text); !bytes.Equal(again.Text, done.Text) {
			t.Errorf("the second time changes it again:\n%s\n---\n%s", done.Text, again.Text)
		}
	})
}
