package malformed_test

import (
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/muster-hpc/muster/internal/say/malformed"
)

func TestJSON(t *testing.T) {
	var into struct {
		Name string
		Of   struct{ Count int }
	}
	for text, want := range map[string]string{
		"":                          "it is empty",
		"{":                         "it ends too early: it was cut off",
		`{"Name": "a`:               "it ends too early: it was cut off",
		"\x00\x00":                  `byte 1: it is no JSON: invalid character '\x00' looking for beginning of value`,
		"{} x":                      "byte 4: it is no JSON: invalid character 'x' after top-level value",
		"[]":                        "it has a list where something else belongs",
		`{"Name": {}}`:              "Name has an object where something else belongs",
		`{"Of": {"Count": "a"}}`:    "Of.Count has a text where something else belongs",
		`{"Of": {"Count": 1.5}}`:    "Of.Count has a number 1.5 where something else belongs",
		`{"Name": true}`:            "Name has true or false where something else belongs",
		`{"Of": {"Count": 1e9999}}`: "Of.Count has a number 1e9999 where something else belongs",
	} {
		err := malformed.JSON(json.Unmarshal([]byte(text), &into))
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if err := malformed.JSON(fs.ErrNotExist); err != fs.ErrNotExist { //nolint:errorlint // the very same
		t.Errorf("another error is %v", err)
	}
}
