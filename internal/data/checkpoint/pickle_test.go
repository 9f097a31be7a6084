package checkpoint

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLengths reads what torch wrote: it says of each tensor where it ends, and the last one ends where its file does.
func TestLengths(t *testing.T) {
	text, err := os.ReadFile("testdata/dcp.metadata")
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]int64{"__0_0.distcp": 19308, "__1_0.distcp": 31289, "__2_0.distcp": 30092}
	if diff := cmp.Diff(whole, lengths(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for n := range len(text) {
		for name, end := range lengths(text[:n]) {
			if end > whole[name] {
				t.Fatalf("of its first %d bytes, %s has %d", n, name, end)
			}
		}
	}
}

func TestStored_short(t *testing.T) {
	text, err := os.ReadFile("testdata/dcp.metadata")
	if err != nil {
		t.Fatal(err)
	}
	s := Set{Dir: "step-100", Begins: map[string][]byte{".metadata": text}, Files: []File{{Path: ".metadata", SizeBytes: int64(len(text))},
		{Path: "__0_0.distcp", SizeBytes: 19308}, {Path: "__1_0.distcp", SizeBytes: 31289}, {Path: "__2_0.distcp", SizeBytes: 30092}}}
	if v := Stored(s); v.Torn != "" {
		t.Errorf("of a whole one it says %s", v.Torn)
	}
	s.Files[2].SizeBytes = 30000
	if v := Stored(s); v.Torn != "__1_0.distcp has 30000 bytes, and .metadata says 31289" {
		t.Errorf("of a short one it says %q", v.Torn)
	}
}

// TestLengths_old has a pickle of an older protocol, with a number that takes five bytes.
func TestLengths_old(t *testing.T) {
	text := "\x80\x02ctorch.distributed.checkpoint.filesystem\n_StorageInfo\nq\x00)\x81q\x01}q\x02(" +
		"X\x0d\x00\x00\x00relative_pathq\x03X\x0c\x00\x00\x00__0_0.distcpq\x04X\x06\x00\x00\x00offsetq\x05K\x08X\x06\x00\x00\x00lengthq\x06\x8a\x05\x00\x00\x00\x00\x01ub" +
		"h\x00)\x81(h\x03h\x04h\x05J\x00\x00\x00\x40h\x06M\x00\x01ub."
	if diff := cmp.Diff(map[string]int64{"__0_0.distcp": 8 + 1<<32}, lengths([]byte(text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := lengths([]byte(strings.Repeat("\xff", 100))); len(found) != 0 {
		t.Errorf("in what is none it found %v", found)
	}
}

func FuzzLengths(f *testing.F) {
	text, err := os.ReadFile("testdata/dcp.metadata")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(_ *testing.T, b []byte) { lengths(b) })
}

// TestStored_cut_metadata has the .metadata that torch wrote cut off at each length.
func TestStored_cut_metadata(t *testing.T) {
	text, err := os.ReadFile("testdata/dcp.metadata")
	if err != nil {
		t.Fatal(err)
	}
	for n := len(text); n > 0; n -= 1 + n/200 {
		s := Set{Dir: "step-100", Begins: map[string][]byte{".metadata": text[:n]}, Files: []File{{Path: ".metadata", SizeBytes: int64(n)},
			{Path: "__0_0.distcp", SizeBytes: 19308}, {Path: "__1_0.distcp", SizeBytes: 31289}, {Path: "__2_0.distcp", SizeBytes: 30092}}}
		if v := Stored(s); (v.Torn == "") != (text[n-1] == '.' && bytes.Contains(text[:n], []byte(".distcp"))) {
			t.Fatalf("of its first %d of %d bytes it says %q", n, len(text), v.Torn)
		}
		if s.Files[0].SizeBytes++; Stored(s).Torn != "" {
			t.Fatalf("of %d bytes, of which only the first %d are known, it says %q", n+1, n, Stored(s).Torn)
		}
	}
}
