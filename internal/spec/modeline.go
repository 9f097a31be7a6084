package spec

import (
	"bytes"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// modelines is how many of a file's first lines are looked at for settings of
// the file itself.
const modelines = 10

// ownLevel is the level that a file names in a comment line of its own near its
// top, such as "# muster: schema=3.14"; zero is none.
func (d *document) ownLevel() Level {
	var level Level
	rest := d.data
	for line := 1; line <= modelines && len(rest) > 0; line++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte("\n"))
		settings, ok := modeline(string(text))
		if !ok {
			continue
		}
		at := d.at(line, strings.IndexByte(string(text), '#')+1)
		for setting := range strings.FieldsSeq(settings) {
			if l := d.setting(setting, at); l != 0 {
				level = l
			}
		}
	}
	return level
}

// modeline is the settings of a comment for muster; false for other comments.
func modeline(line string) (settings string, ok bool) {
	comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	if !ok {
		return "", false
	}
	settings, ok = strings.CutPrefix(strings.TrimSpace(comment), "muster:")
	first, _, _ := strings.Cut(strings.TrimSpace(settings), " ")
	return settings, ok && strings.Contains(first, "=")
}

// setting reads one word of a modeline.
func (d *document) setting(word string, at diag.Place) Level {
	name, value, _ := strings.Cut(word, "=")
	if name != "schema" {
		d.errorAt(at, "file/setting", "", "%s is no setting of a file", quote(word)).
			WithHint("write # muster: schema=%s", Newest)
		return 0
	}
	l, err := ParseLevel(value)
	if err != nil {
		d.errorAt(at, "file/setting", "", "%v", err).WithHint("write # muster: schema=%s", Newest)
	}
	return l
}
