//go:build linux

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/say/page"
)

// notOfMachines refuses a directory below a file system that the named local cluster's machines have and this one does not: it would be
// made here, where no job sees it. verb is the command's.
func (a *app) notOfMachines(verb, dir string) error {
	if a.asked() == "" || inside() || !filepath.IsAbs(dir) {
		return nil
	}
	ref, err := a.ref()
	if err != nil {
		return nil // it is on another place, or there is none: others say so
	}
	record, err := ref.Layout().Record()
	if err != nil {
		return nil
	}
	for _, m := range record.Shared {
		rest, ok := strings.CutPrefix(filepath.Clean(dir)+"/", m.Target+"/")
		if _, err := os.Lstat(m.Target); !ok || !os.IsNotExist(err) {
			continue
		}
		return fmt.Errorf("%s is a directory of cluster %s's machines, and there is no %s here: `muster exec -- muster data %s` does it there; here that directory is %s",
			page.Printable(dir), ref.Name, m.Target, verb, filepath.Join(m.Source, rest))
	}
	return nil
}
