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
	script, err := os.ReadFile("../../../examples/train/" + torchScript)
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
