package boot

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestOpen(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("needs root, who owns new file systems")
		}
		t.Skip("needs root, who owns new file systems")
	}
	for _, row := range []struct {
		name string
		make func(dir string) error
		want bool
	}{
		{"new", func(string) error { return nil }, true},
		{"new_ext4", func(dir string) error { return os.Mkdir(filepath.Join(dir, "lost+found"), 0o700) }, true},
		{"used", func(dir string) error { return os.Mkdir(filepath.Join(dir, "data"), 0o755) }, false},
		{"somebodys", func(dir string) error { return os.Chown(dir, 1000, 1000) }, false},
		{"closed_on_purpose", func(dir string) error { return os.Chmod(dir, 0o750) }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := Machine{Root: t.TempDir()}
			dir := filepath.Join(m.Root, "fsx")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := row.make(dir); err != nil {
				t.Fatal(err)
			}
			got, err := m.Open("/fsx")
			if err != nil || got != row.want {
				t.Fatalf("got %t, %v", got, err)
			}
			info, err := os.Stat(dir)
			if err != nil || (info.Mode()&(fs.ModePerm|fs.ModeSticky) == 0o777|fs.ModeSticky) != row.want {
				t.Errorf("it is %v, %v", info.Mode(), err)
			}
		})
	}
}
