package source

import (
	"fmt"
	"strings"

	said "github.com/muster-hpc/muster/internal/say/malformed"
)

// malformed is the problem of a document, without the words of Go's JSON decoder.
func malformed(err error) error {
	for _, hash := range []string{"in hash: ", "hex digits for sha256: ", "cannot parse hash: ", "unsupported hash: "} {
		if _, digest, ok := strings.Cut(err.Error(), hash); ok {
			return fmt.Errorf("a digest in it is not sha256: and 64 of 0-9 and a-f: %.100s", digest)
		}
	}
	return said.JSON(err)
}
