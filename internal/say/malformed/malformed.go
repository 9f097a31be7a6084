// Package malformed says in plain words why a text is not the JSON that it should be.
package malformed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// JSON is an error of encoding/json's Unmarshal in words that name no type of Go's. Other errors stay as they are.
func JSON(err error) error {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		switch {
		case s.Error() != "unexpected end of JSON input":
			return fmt.Errorf("byte %d: it is no JSON: %w", s.Offset, err)
		case s.Offset == 0:
			return errors.New("it is empty")
		}
		return errors.New("it ends too early: it was cut off")
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value := map[string]string{"array": "a list", "object": "an object", "string": "a text", "bool": "true or false"}[t.Value]
		return fmt.Errorf("%s has %s where something else belongs", cmp.Or(t.Field, "it"), cmp.Or(value, "a "+t.Value))
	}
	return err
}
