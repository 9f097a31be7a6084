package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-hpc/muster/examples/train"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/tail"
)

// imageName is the image's name in the cluster's registry and directory.
const imageName = "training"

func (d *demo) rootTar() string { return filepath.Join(d.Dir, "root.tar") }

// pushImage puts the file system and the training program into the cluster's
// registry, as an image of two layers.
func (d *demo) pushImage(ctx context.Context) (string, error) {
	if err := writeProgram(filepath.Join(d.Dir, "program")); err != nil {
		return "", err
	}
	var packed struct {
		Reference string `json:"reference"`
		Digest    string `json:"digest"`
	}
	err := d.muster(ctx, &packed,
		"image", "pack", "--tag", imageName, "--workdir", "/workspace", "root.tar", "program")
	if err != nil {
		return "", err
	}
	d.image = packed.Reference
	return fmt.Sprintf("%s, %s", packed.Reference, shortDigest(packed.Digest)), os.Remove(d.rootTar())
}

// workspace is where the program lies in the demo's folder, guidesName what batch scripts of
// the AWS guides call it.
const workspace, guidesName = "program/workspace", "train_distributed_deepspeed.py"

// writeProgram makes dir hold the training program where the image is to have it.
func writeProgram(dir string) error {
	workspace := filepath.Join(dir, filepath.Base(workspace))
	if err := os.MkdirAll(workspace, 0o755); err != nil {
		return err
	}
	sources, err := fs.Glob(train.Files, "*.py")
	if err != nil {
		return err
	}
	for _, name := range sources {
		text, err := train.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(workspace, name), text, 0o644); err != nil {
			return err
		}
	}
	return os.Symlink("train.py", filepath.Join(workspace, guidesName))
}

// importImage makes the image a squashfs file on shared storage.
func (d *demo) importImage(ctx context.Context) (string, error) {
	var imported struct {
		OnNodes string `json:"on_nodes"`
		Digest  string `json:"digest"`
	}
	if err := d.muster(ctx, &imported, "image", "import", "--name", imageName, d.image); err != nil {
		return "", err
	}
	info, err := os.Stat(d.hostPath(imported.OnNodes))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d MB, %s", imported.OnNodes, info.Size()/1e6, shortDigest(imported.Digest)), nil
}

// muster runs a command of muster on the head node, as a user would, and reads
// its JSON answer.
func (d *demo) muster(ctx context.Context, answer any, args ...string) error {
	line := d.layout.HeadCommand(d.anchor, d.Dir, append(append([]string{"env"}, local.HeadEnv()...), append([]string{services.Muster, "-o", "json"}, args...)...))
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var out bytes.Buffer
	var said tail.Writer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := d.watch(cmd, &said); err != nil {
		return fmt.Errorf("muster %s: %w\n%s", strings.Join(args, " "), err, said.Last(10))
	}
	return json.Unmarshal(out.Bytes(), answer)
}

// watch runs a program and shows its last words meanwhile.
func (d *demo) watch(cmd *exec.Cmd, said *tail.Writer) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
			d.tell.waiting(said.Last(1))
		}
	}
}

func shortDigest(digest string) string {
	return "sha256:" + short(strings.TrimPrefix(digest, "sha256:"))
}
