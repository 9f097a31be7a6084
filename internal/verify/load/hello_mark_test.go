package load

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A node says which of the head node's files it does not see as they are, and answers all the same.
func TestAnswer_marks(t *testing.T) {
	dir := t.TempDir()
	there, other, longer, gone := filepath.Join(dir, "there"), filepath.Join(dir, "other"), filepath.Join(dir, "longer"), filepath.Join(dir, "gone")
	for path, text := range map[string]string{there: "word", other: "ward", longer: "wordy"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	question, err := json.Marshal(Greeting{Turn: 3, Marks: map[string]string{there: "word", other: "word", longer: "word", gone: "word"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Answer(t.Context(), bytes.NewReader(append(question, '\n')), &out, "n-1"); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(&out)
	var first, h Hello
	if err := answers.Decode(&first); err != nil {
		t.Fatal(err)
	}
	if err := answers.Decode(&h); err != nil || h.Turn != 3 || len(h.Unseen) != 3 {
		t.Fatalf("%v: %+v", err, h)
	}
	for path, why := range map[string]string{other: "something else", longer: "something else", gone: "not to be seen"} {
		if !strings.Contains(h.Unseen[path], why) {
			t.Errorf("%s: %q", path, h.Unseen[path])
		}
	}
}
