package cli

import (
	"os"
	"strings"
	"testing"
)

func TestScriptOfStandardInput(t *testing.T) {
	for file, want := range map[string]bool{"-": true, "/dev/stdin": true, "stdin": false, "./-": false} {
		if got := fromStdin(file); got != want {
			t.Errorf("%s: got %t, want %t", file, got, want)
		}
	}
	const script = "#!/bin/bash\nhostname\n"
	file, done, err := (&app{in: strings.NewReader(script)}).keepStdin()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != script {
		t.Errorf("the file has %q, %v", data, err)
	}
	done()
	if _, err := os.Stat(file); err == nil {
		t.Error("the file stays")
	}
}
