package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// asFile adds to the error of a name that was looked for in a registry that there is a file of that name in the working directory, or among
// the images.
func asFile(err error, dir, images, name string) error {
	if err == nil || strings.Contains(name, "://") {
		return err
	}
	const registry = "a name without / or . in front is that of an image in a registry"
	isFile := func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular()
	}
	switch {
	case isFile(dir):
		return fmt.Errorf("%w; %s: for the file in %s say --container-image=./%s", err, registry, dir, name)
	case isFile(images):
		return fmt.Errorf("%w; %s: for the file among the images say --container-image=%s", err, registry, filepath.Join(images, name))
	}
	return err
}
