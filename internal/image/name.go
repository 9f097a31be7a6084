package image

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// suffix is the end of every image file's name.
const suffix = ".sqsh"

var nameForm = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._+@=,-]*$`)

// CheckName refuses names that would make no good file name. The ending .sqsh
// may be there or not.
func CheckName(name string) error {
	if !nameForm().MatchString(name) || len(name) > 200 {
		return fmt.Errorf("%q is no name for an image: it may have letters, digits and . _ - + @ = , up to 200", name)
	}
	return nil
}

// Path is the file of an image in a directory. What has a slash is a path itself.
func Path(dir, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return filepath.Join(dir, strings.TrimSuffix(name, suffix)+suffix)
}
