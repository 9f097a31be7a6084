package source

import (
	"bytes"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestMalformed: what is wrong with a manifest is said without Go's words.
func TestMalformed(t *testing.T) {
	digest := strings.Repeat("A", 64)
	for text, want := range map[string]string{
		`[]`:           "it has a list where something else belongs",
		`{"layers":1}`: "layers has a number where something else belongs",
		`{"config":{"digest":"sha256:` + digest + `"}}`: "a digest in it is not sha256: and 64 of 0-9 and a-f",
		`{"config":{"digest":"sha256:ab"}}`:             "a digest in it is not sha256: and 64 of 0-9 and a-f",
		`{"config":{"digest":"ab"}}`:                    "a digest in it is not sha256: and 64 of 0-9 and a-f",
	} {
		_, err := v1.ParseManifest(bytes.NewReader([]byte(text)))
		if err == nil || !strings.HasPrefix(malformed(err).Error(), want) {
			t.Errorf("%s: got %v of %v, want %q", text, malformed(err), err, want)
		}
	}
	if _, err := newDocument([]byte("[]"), ""); err == nil || err.Error() != "read its manifest: it has a list where something else belongs" {
		t.Errorf("got %v", err)
	}
}
