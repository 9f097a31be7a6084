package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgramIsWhereBatchScriptsCallIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "program")
	if err := writeProgram(dir); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../../examples/train/" + script)
	if err != nil {
		t.Fatal(err)
	}
	called := 0
	for word := range strings.FieldsSeq(string(script)) {
		if !strings.HasPrefix(word, "/workspace/") {
			continue
		}
		called++
		if _, err := os.Stat(dir + word); err != nil {
			t.Errorf("the batch script calls %s: %v", word, err)
		}
	}
	if called != 2 {
		t.Errorf("the batch script calls %d programs of the image", called)
	}
}

func TestTail(t *testing.T) {
	var said tail
	for _, text := range []string{strings.Repeat("x", 2*tailLimit), "\none\n", "I: 10%\rI: 20%"} {
		if n, err := said.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(text), err)
		}
	}
	if got := said.last(1); got != "I: 20%" {
		t.Errorf("the last line is %q", got)
	}
	if got := said.last(3); got != "one\nI: 10%\nI: 20%" {
		t.Errorf("the last lines are %q", got)
	}
	if len(said.text) > tailLimit {
		t.Errorf("%d bytes are kept", len(said.text))
	}
	var none tail
	if got := none.last(1); got != "" {
		t.Errorf("no words: %q", got)
	}
}
