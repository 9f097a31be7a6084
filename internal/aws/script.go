package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"time"

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
	line := way.Run(connect.Use{}, entered(muster, []string{"/bin/sh", "-c", writeFile, "write", there})...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), &said
	// A shared connection, of old versions of SSH, holds on to our pipe.
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("copy %s to the head node: %w: %s", file, err, bytes.TrimSpace(said.Bytes()))
	}
	return there, nil
}
