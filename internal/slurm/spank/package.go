package spank

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Package compiles the plugin for the Slurm whose headers are installed and writes
// it into dir under the name that Packaged gives it. A muster with that file beside
// it needs no compiler. It returns the file's path.
func Package(ctx context.Context, dir string) (string, error) {
	version, err := headers(ctx)
	if err != nil {
		return "", hint(err, "")
	}
	path := filepath.Join(dir, Packaged(version))
	text, err := build(ctx, path+".build")
	if err != nil {
		return "", err
	}
	return path, whole.Write(path, text, 0o755)
}

// headers asks the preprocessor for the version that Slurm's headers are of, such
// as "22.05": a byte each for year and month.
func headers(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "cc", "-E", "-P", "-")
	cmd.Stdin = strings.NewReader("#include <slurm/slurm_version.h>\nSLURM_VERSION_NUMBER\n")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask for the version of Slurm's headers: %w", err)
	}
	number, err := strconv.ParseUint(strings.TrimSpace(string(out)), 0, 32)
	if err != nil {
		return "", fmt.Errorf("read the version of Slurm's headers: %w", err)
	}
	return fmt.Sprintf("%02d.%02d", number>>16&0xff, number>>8&0xff), nil
}
