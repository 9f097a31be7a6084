package local

import (
	_ "embed"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

//go:embed df.sh
var dfProgram string

// dfFile is df on the cluster's machines. The file systems of the cluster file are
// directories of one disk there, of which df by itself shows none.
func dfFile(c *spec.Cluster) file {
	var dirs []string
	for _, s := range withHome(c) {
		dirs = append(dirs, strings.ReplaceAll(s.MountDir, "'", `'\''`))
	}
	return file{path: "bin/df", mode: 0o755, text: strings.Replace(dfProgram, "@MOUNTS@", strings.Join(dirs, "\n"), 1)}
}
