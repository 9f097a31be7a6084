package lustre

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// words are what lfs says behind the path of a file.
var words = sync.OnceValue(func() (w struct{ state, action *regexp.Regexp }) {
	w.state = regexp.MustCompile(`^\(0x([0-9a-f]{1,8})\)(?: [a-z_]+)*(?:, archive_id: ?\d+)?$`)
	w.action = regexp.MustCompile(`^([A-Z]+)(?: [a-z]+ \([^()]*\))?$`)
	return w
})

// ParseStates reads what `lfs hsm_state` says of files, in their order. Of those of which it cannot say anything it says
// nothing here. A path may have any byte.
func ParseStates(out string, paths []string) (map[string]State, error) {
	lines, err := parse("hsm_state", out, paths, words().state)
	states := map[string]State{}
	for p, bits := range lines {
		n, err := strconv.ParseUint(bits, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("read lfs hsm_state: %q: %w", p, err)
		}
		states[p] = State(n)
	}
	return states, err
}

// ParseActions reads in the same way what `lfs hsm_action` says of files: what is being done for them now, which is NOOP,
// ARCHIVE, RESTORE, RELEASE, REMOVE or CANCEL.
func ParseActions(out string, paths []string) (map[string]string, error) {
	return parse("hsm_action", out, paths, words().action)
}

// parse takes the lines apart, each of which begins with the path of a file.
func parse(deed, out string, paths []string, words *regexp.Regexp) (map[string]string, error) {
	found := map[string]string{}
	for _, p := range paths {
		rest, ok := strings.CutPrefix(out, p+": ")
		line, next, whole := strings.Cut(rest, "\n")
		if m := words.FindStringSubmatch(line); ok && whole && m != nil {
			found[p], out = m[1], next
		}
	}
	if out != "" {
		return nil, fmt.Errorf("read lfs %s: nothing was asked of this: %.200q", deed, out)
	}
	return found, nil
}
