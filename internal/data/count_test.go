package data_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestCountsOfTheHead has a head count other files than its manifest names: all who read it say so, and a push mends it.
func TestCountsOfTheHead(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	b.write("a", "text")
	b.pushes()
	h := b.head()
	h.Files, h.Bytes = 7, 1<<40
	put(t, b.bucket, manifest.HeadKey("set"), string(h.Encode()))

	set := opened(t, b.bucket, "set")
	_, heads := (&data.Verify{Dataset: set}).Heads(t.Context())
	_, full := (&data.Verify{Dataset: set}).Full(t.Context())
	_, pull := (&data.Pull{Dataset: set, Dir: t.TempDir()}).Run(t.Context())
	_, list := data.Folders(set.Records(t.Context()))
	for who, err := range map[string]error{"verify": heads, "verify --full": full, "pull": pull, "list": list} {
		if err == nil || !strings.Contains(err.Error(), "counts 7 files of 1099511627776 bytes, and its manifest names 1 of 4") {
			t.Errorf("%s: got %v", who, err)
		}
	}
	b.pushes()
	b.wants(b.files())
}
