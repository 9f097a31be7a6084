package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/services"
)

// scriptsDir is where scripts from elsewhere are on a head node, in its user's home
// directory: each in a folder that is named for its text.
const scriptsDir = ".muster/scripts"

// carry submits a batch script on the head node of a cluster on AWS. The script is
// copied there if it is a file of this machine.
func (a *app) carry(ctx context.Context, w where, args []string) error {
	before := flagsBefore(os.Args[1:], args)
	if fromStdin(args[0]) {
		file, done, err := a.keepStdin()
		if err != nil {
			return err
		}
		defer done()
		args = append([]string{file}, args[1:]...)
	}
	info, err := os.Stat(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		a.note("there is no %s on this machine; it is looked for on the head node", args[0])
		return a.forward(ctx, w, os.Args[1:])
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > scriptLimit {
		_, problems := readScript(args[0])
		return a.showProblems(problems)
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	way, err := a.way(ctx, w, connect.Options{})
	if err != nil {
		return err
	}
	muster, err := a.musterAt(ctx, w, way)
	if err != nil {
		return err
	}
	there, err := sendScript(ctx, way, muster, args[0], data)
	if err != nil {
		return err
	}
	a.note("%s is ~/%s on the head node; the job begins in the home directory there", args[0], there)
	line := slices.Concat([]string{services.Muster}, before, []string{"--" + calledFlag + "=" + args[0], there}, args[1:])
	return runSSH(ctx, way.Run(a.use(), entered(muster, line)...))
}

// flagsBefore are the command and the flags that stand before FILE.
func flagsBefore(line, args []string) []string {
	before := line[:len(line)-len(args)]
	if n := len(before); n > 0 && before[n-1] == "--" {
		before = before[:n-1]
	}
	return before
}

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
