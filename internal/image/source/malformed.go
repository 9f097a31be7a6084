package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// malformed is the problem of a document, without the words of Go's JSON decoder.
func malformed(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value := map[string]string{"array": "a list", "object": "an object", "string": "a text", "bool": "true or false"}[t.Value]
		return fmt.Errorf("%s has %s where something else belongs", cmp.Or(t.Field, "it"), cmp.Or(value, "a "+t.Value))
	}
	for _, hash := range []string{"in hash: ", "hex digits for sha256: ", "cannot parse hash: ", "unsupported hash: "} {
		if _, digest, ok := strings.Cut(err.Error(), hash); ok {
			return fmt.Errorf("a digest in it is not sha256: and 64 of 0-9 and a-f: %.100s", digest)
		}
	}
	return err
}
