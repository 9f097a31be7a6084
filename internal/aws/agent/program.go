package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// running is the SHA-256 of the program that this process runs.
func running() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// takeUp replaces muster by the build that the site names, and this process by it: the
// new one boots the machine again, which changes only what has to be changed. Slurm and
// its jobs go on. It returns if this is that build already, or on an error.
func (h *headNode) takeUp(ctx context.Context) (string, error) {
	want, ok := h.cluster.site.Programs[runtime.GOARCH]
	if !ok || want.SHA256 == h.sum {
		return "muster " + h.Version + " stays", nil
	}
	version, err := h.fetchProgram(ctx, want)
	if err != nil {
		return "", err
	}
	h.Log.Info("muster is replaced", "from", h.Version, "to", version)
	if _, err := h.machine.Write(replacedFile, h.Version+"\n", 0o644, ""); err != nil {
		return "", err
	}
	// Its supervisor starts the controller again from the new file.
	if err := h.restart(ctx, h.services, "controller"); err != nil {
		return "", err
	}
	return "", fmt.Errorf("start muster %s: %w", version, syscall.Exec(h.Program, os.Args, os.Environ()))
}

// replacedFile says that a program was replaced in the midst of an update.
const replacedFile = "/var/lib/muster/replaced"

// fetchProgram puts a build of muster in the place of this one, whole or not at all,
// once it has been seen to be the right one and to run here. It returns its version.
func (h *headNode) fetchProgram(ctx context.Context, want manifest.Program) (string, error) {
	body, _, err := h.bucket.Get(ctx, want.Key)
	if err != nil {
		return "", err
	}
	defer body.Close()
	path := h.Program + ".new"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), body)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("fetch %s: %w", want.Key, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		return "", fmt.Errorf("fetch %s: its SHA-256 is %s", want.Key, got)
	}
	said, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return "", fmt.Errorf("the new muster does not run here: %w", err)
	}
	line, _, _ := strings.Cut(string(said), "\n")
	return strings.TrimPrefix(strings.TrimSpace(line), "muster "), whole.Rename(path, h.Program)
}
