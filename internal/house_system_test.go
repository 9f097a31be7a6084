package house

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOtherSystemsHaveNoCodeOfLinux(t *testing.T) {
	rows := load(t).rows
	mac, linux := programOf(t, "darwin"), programOf(t, "linux")
	for name, row := range rows {
		switch has := slices.Contains(mac, name); {
		case has && row.linux:
			t.Errorf("the program for macOS has %s, which its row says is for Linux alone", name)
		case !has && !row.linux && slices.Contains(linux, name):
			t.Errorf("the program for Linux has %s and that for macOS has not: its row does not say so", name)
		case row.linux && !slices.Contains(linux, name):
			t.Errorf("the row of %s says that it is for Linux, whose program does not have it", name)
		}
	}
	if len(mac) == 0 {
		t.Error("the program for macOS has no package")
	}
}

// macOS cannot check out two files whose names differ in case alone, and `go install` takes no module that has them.
func TestNamesOfFilesDifferInMoreThanCase(t *testing.T) {
	seen := map[string]string{}
	err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && name != top && (e.Name() == "bin" || strings.HasPrefix(e.Name(), ".")) {
			return fs.SkipDir
		}
		key := strings.ToLower(name)
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s differ in case alone", other, name)
		}
		seen[key] = name
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// programOf are the packages of internal that muster has on a system.
func programOf(t *testing.T, system string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/muster")
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=arm64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range strings.Lines(string(out)) {
		if inner, ok := strings.CutPrefix(strings.TrimSpace(name), module+inside); ok {
			names = append(names, inner)
		}
	}
	return names
}
