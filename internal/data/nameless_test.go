package data

import (
	"io"
	"os"
	"testing"
)

func TestNameless(t *testing.T) {
	dir := t.TempDir()
	f, err := nameless(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	if _, err := f.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(f, 0, 100)); err != nil || string(got) != "text" {
		t.Errorf("it has %q, %v", got, err)
	}
	if _, err := nameless(dir + "/none"); !os.IsNotExist(err) {
		t.Errorf("in a directory that is not there: %v", err)
	}
}
