package cli

import (
	"regexp"
	"strings"
	"testing"
)

// TestWordsOfOthers holds that what is said of a word of another tool's exists, and that
// the word is none of ours.
func TestWordsOfOthers(t *testing.T) {
	root := (&app{}).root()
	commands := regexp.MustCompile("`muster [^`]*`")
	for _, path := range []string{"muster", "muster job", "muster node", "muster fleet", "muster image", "muster data", "muster container"} {
		seen := map[string]bool{}
		for _, line := range theirs(path) {
			words, ours, _ := strings.Cut(line, ": ")
			for word := range strings.FieldsSeq(words) {
				if seen[word] {
					t.Errorf("%s: %s is said twice", path, word)
				}
				seen[word] = true
				parent, _, _ := root.Find(strings.Fields(path)[1:])
				if found, rest, _ := parent.Find([]string{word}); found != parent || len(rest) == 0 {
					t.Errorf("%s %s is a command of ours", path, word)
				}
			}
			for _, command := range commands.FindAllString(ours, -1) {
				args := strings.Fields(strings.Trim(command, "`"))[1:]
				if found, _, err := root.Find(args); err != nil || !found.Runnable() || found == root {
					t.Errorf("%s: %s is no command", path, command)
				}
			}
		}
	}
}
