// Command gen compiles Slurm's plugin for containers for the Slurm whose headers
// are installed, and writes it beside its other output:
//
//	go run ./internal/spank/gen DIR
//
// A muster that has the file beside it needs no compiler where it runs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/spank"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/spank/gen DIR")
		os.Exit(2)
	}
	path, err := write(context.Background(), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// write compiles the plugin into dir, under the name of its Slurm's release.
func write(ctx context.Context, dir string) (string, error) {
	version, err := headers(ctx)
	if err != nil {
		return "", err
	}
	text, err := spank.Build(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, spank.Packaged(version))
	return path, os.WriteFile(path, text, 0o755)
}

// headers asks the preprocessor for the version that Slurm's headers are of.
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
