package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/aws/connect"
)

// scriptsDir is where scripts from elsewhere are on a head node, in its user's home
// directory: each in a folder that is named for its text.
const scriptsDir = ".muster/scripts"

// writeFile writes its input to $1, whole or not at all.
const writeFile = `umask 077 && mkdir -p "$(dirname "$1")" && cat >"$1.$$" && chmod 700 "$1.$$" && mv "$1.$$" "$1"`

// sendScript copies a script to the head node and returns where it is.
func sendScript(ctx context.Context, way connect.Way, muster, file string, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	there := path.Join(scriptsDir, fmt.Sprintf("%x", sum[:6]), filepath.Base(file))
	line := entered(muster, []string{"/bin/sh", "-c", writeFile, "write", there})
	if err := runThere(ctx, way, bytes.NewReader(data), line...); err != nil {
		return "", fmt.Errorf("copy %s to the head node: %w", file, err)
	}
	return there, nil
}
