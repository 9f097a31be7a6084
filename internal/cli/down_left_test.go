package cli

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShowUnexported(t *testing.T) {
	for _, c := range []struct {
		name string
		left *unexported
		want string
	}{
		{"all_is_there", nil, ""},
		{"some", &unexported{Why: "nothing moved for 15 s", Files: 3, SizeBytes: 2 << 30, Dir: "/run/demo/shared", First: []unexportedFile{
			{"/fsx1/ck\x1b/model.bin", 2 << 30, "new"}, {"/fsx1/ck/latest", 4, "it waits for ck/model.bin"},
		}}, `muster: 3 files are not in the buckets, 2.0 GiB: nothing moved for 15 s
  /fsx1/ck\x1b/model.bin, 2.0 GiB: new
  /fsx1/ck/latest, 4 B: it waits for ck/model.bin
  and 1 more
the data stays in /run/demo/shared, and the next ` + "`muster up`" + ` of this cluster exports it
`},
		{"some_and_nobody_knows", &unexported{Unknown: true, Why: "not found", Files: 1, SizeBytes: 4, Dir: "/d", First: []unexportedFile{{"/fsx1/a", 4, "new"}}},
			`muster: at least 1 file is not in the buckets, 4 B: not found
  /fsx1/a, 4 B: new
the data stays in /d, and the next ` + "`muster up`" + ` of this cluster exports it
`},
		{"nobody_knows", &unexported{Unknown: true, Why: "no answer", Dir: "/d"}, `muster: nobody knows what is not in the buckets yet: no answer
the data stays in /d, and the next ` + "`muster up`" + ` of this cluster exports it
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := (&app{err: &out, quiet: true}).showUnexported(c.left)
			var code exitCode
			if errors.As(err, &code) != (c.left != nil) || c.left != nil && int(code) != exitLook {
				t.Errorf("it ends with %v", err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
