package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestAsFile has that a file's name that was looked for in a registry comes with the path to write, if there is such a file.
func TestAsFile(t *testing.T) {
	dir, images := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(images, "kept.sqsh"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train.sqsh", "images/a.squashfs"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	hint := "denied; a name without / or . in front is that of an image in a registry: for the file in " + dir + " say --container-image=./"
	for _, row := range []struct{ name, dir, image, want string }{
		{"file", dir, "train.sqsh", hint + "train.sqsh"},
		{"file_below", dir, "images/a.squashfs", hint + "images/a.squashfs"},
		{"among_the_images", dir, "kept.sqsh", "denied; a name without / or . in front is that of an image in a registry: for the file among the images say --container-image=" + filepath.Join(images, "kept.sqsh")},
		{"no_such_file", dir, "other.sqsh", "denied"},
		{"directory", dir, "images", "denied"},
		{"uri", dir, "docker://train.sqsh", "denied"},
		{"no_working_directory", "", "train.sqsh", "denied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := asFile(errors.New("denied"), row.dir, images, row.image)
			if err.Error() != row.want {
				t.Errorf("got %q, want %q", err, row.want)
			}
		})
	}
	if err := asFile(nil, dir, images, "train.sqsh"); err != nil {
		t.Errorf("an image that was brought: %v", err)
	}
}
