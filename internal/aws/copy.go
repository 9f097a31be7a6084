package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/services"
)

// GuestDir is where muster is on the head node of a cluster that ParallelCluster made,
// in its user's home directory: each build in a folder that is named for its SHA-256.
const GuestDir = ".muster/guest"

// program is where muster is on a cluster's head node. To one that ParallelCluster made
// it is brought.
func (c *cluster) program(ctx context.Context, way connect.Way) (string, error) {
	if c.record.Adopted == nil {
		return services.Muster, nil
	}
	file, sum, err := Program(c.record.Adopted.InstanceType)
	if err != nil {
		return "", err
	}
	there := path.Join(GuestDir, sum, "muster")
	err = runThere(ctx, way, nil, "/bin/sh", "-c", isThere, "muster", there, sum)
	if exit, ok := errors.AsType[*exec.ExitError](err); err == nil || !ok || exit.ExitCode() == sshFailed {
		return there, err
	}
	c.talk.Note("copying muster to ~/%s on the head node", there)
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := runThere(ctx, way, f, "/bin/sh", "-c", bringThere, "muster", there, sum); err != nil {
		return "", fmt.Errorf("copy muster to the head node: %w", err)
	}
	return there, nil
}

// sshFailed is SSH's exit code where it did not get there.
const sshFailed = 255

// Shell for the head node: $1 is a file, $2 what its SHA-256 has to be. A file that is
// another one never gets the name.
const (
	isThere    = `[ -x "$1" ] && echo "$2  $1" | sha256sum -c >/dev/null 2>&1`
	bringThere = `umask 077 && mkdir -p "$(dirname "$1")" && cat >"$1.$$" && echo "$2  $1.$$" | sha256sum -c >/dev/null && chmod 700 "$1.$$" && mv "$1.$$" "$1"`
)

// runThere runs a program on a head node. Its error says what the program said.
func runThere(ctx context.Context, way connect.Way, input io.Reader, program ...string) error {
	line := way.Run(connect.Use{NoInput: input == nil}, program...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = input, &said
	// A shared connection, of old versions of SSH, holds on to our pipe.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
}

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
