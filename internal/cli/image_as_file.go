package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// asFile adds to the error of a name that was looked for in a registry that there is a file of that name in the working directory.
func asFile(err error, dir, name string) error {
	if err == nil || !filepath.IsAbs(dir) || strings.Contains(name, "://") {
		return err
	}
	if info, statErr := os.Stat(filepath.Join(dir, name)); statErr != nil || !info.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%w; a name without / or . in front is that of an image in a registry: for the file in %s say --container-image=./%s", err, dir, name)
}
