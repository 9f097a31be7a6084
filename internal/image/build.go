package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/tie"
)

// BuildOptions say what to build.
type BuildOptions struct {
	// Name is what the builder calls the image.
	Name string
	// File is the Dockerfile; "" is the context's.
	File string
	// Args are KEY=VALUE for the Dockerfile's ARG lines.
	Args []string
	// Context is the directory whose files the Dockerfile copies.
	Context string
	// Builder is buildah, podman or docker; "" is the first of them that is here.
	Builder string
	// Work is a directory that is there and empty.
	Work string
	// Env is added to the builder's environment.
	Env []string
	// Out is where the builder's words go.
	Out io.Writer
}

// builders in the order in which they are looked for.
var builders = []string{"buildah", "podman", "docker"}

// Built is what a builder made.
type Built struct {
	// URI is an OCI layout or an archive in the work directory.
	URI string
	// Reference is where the builder keeps the image.
	Reference string
}

// Build builds a Dockerfile with the user's builder.
func Build(ctx context.Context, o BuildOptions) (b Built, err error) {
	if o.Builder, err = findBuilder(o.Builder, exec.LookPath); err != nil {
		return b, err
	}
	id := filepath.Join(o.Work, "id")
	if err := o.run(ctx, o.buildLine(id, os.Getenv("BUILDAH_ISOLATION") == "" && !systemd())); err != nil {
		return b, err
	}
	data, err := os.ReadFile(id)
	if err != nil {
		return b, fmt.Errorf("%s named no image: %w", o.Builder, err)
	}
	scheme := map[string]string{"docker": "dockerd", "podman": "podman", "buildah": "buildah"}[o.Builder]
	b.Reference = scheme + "://" + o.Name
	uri, line := o.saveLine(strings.TrimSpace(string(data)))
	b.URI = uri
	return b, o.run(ctx, line)
}

// findBuilder is the builder that was asked for, or the first there is.
func findBuilder(asked string, look func(string) (string, error)) (string, error) {
	try := builders
	if asked != "" {
		try = []string{asked}
	}
	for _, b := range try {
		if _, err := look(b); err == nil {
			return b, nil
		}
	}
	if asked != "" {
		return "", fmt.Errorf("there is no %s here", asked)
	}
	return "", errors.New("there is no buildah, podman or docker here to build with; `apt install buildah` brings one that needs no daemon")
}

// systemd tells whether it runs here. Without it, runtimes that make cgroups for
// what a Dockerfile runs mostly fail.
func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// buildLine is the command that builds and writes the image's ID to a file.
func (o BuildOptions) buildLine(id string, chroot bool) []string {
	line := []string{o.Builder, "build", "--iidfile", id, "--tag", o.Name}
	if o.Builder == "buildah" {
		line = append(line, "--layers")
	}
	if o.Builder != "docker" && chroot {
		line = append(line, "--isolation", "chroot")
		line = append(line, heldLimits()...)
	}
	if o.File != "" {
		line = append(line, "--file", o.File)
	}
	for _, a := range o.Args {
		line = append(line, "--build-arg", a)
	}
	return append(line, "--", o.Context)
}

// heldLimits are options by which a builder that changes its root asks for no more processes and open files than it may have:
// by itself it wants 1048576 of each in buildah 1.39, which fails for root without CAP_SYS_RESOURCE, as in most containers.
// buildah 1.28 holds itself to 32768 processes, and fails if a program is to have more.
func heldLimits() []string {
	var line []string
	for _, l := range []struct {
		name string
		kind int
		most uint64
	}{{"nproc", unix.RLIMIT_NPROC, 32768}, {"nofile", unix.RLIMIT_NOFILE, 1048576}} {
		var has unix.Rlimit
		if err := unix.Getrlimit(l.kind, &has); err != nil {
			continue
		}
		n := min(has.Max, l.most)
		line = append(line, "--ulimit", fmt.Sprintf("%s=%d:%d", l.name, n, n))
	}
	return line
}

// saveLine is the command that writes an image to the work directory.
func (o BuildOptions) saveLine(id string) (uri string, line []string) {
	if o.Builder == "docker" {
		file := filepath.Join(o.Work, "image.tar")
		return "docker-archive:" + file, []string{"docker", "save", "--output", file, id}
	}
	place := "oci:" + filepath.Join(o.Work, "oci")
	return place, []string{o.Builder, "push", "--quiet", id, place + ":latest"}
}

// run runs a builder's command and shows what it says.
func (o BuildOptions) run(ctx context.Context, line []string) error {
	cmd := exec.Command(line[0], line[1:]...)
	// What the Dockerfile runs may hold the pipes longer than the builder lives.
	cmd.WaitDelay = 2 * time.Second
	cmd.Stdout, cmd.Stderr = o.Out, o.Out
	cmd.Env = append(os.Environ(), o.Env...)
	err := tie.Program{Cmd: cmd, AtDeath: syscall.SIGINT}.RunUntil(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%s %s: %w", line[0], line[1], err)
}
