package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// engine is a program that keeps images on this machine.
type engine struct {
	program string
	// save writes an image as docker save does to its output, or to a file if the
	// line has FILE.
	save []string
	// sockets are where its service listens for Docker's protocol.
	sockets func() []string
	install string
}

func engineOf(kind Kind) engine {
	switch kind {
	case Docker:
		return engine{
			program: "docker",
			save:    []string{"save", "IMAGE"},
			sockets: func() []string { return []string{unixSocket(os.Getenv("DOCKER_HOST")), "/var/run/docker.sock"} },
			install: "docker.io",
		}
	case Podman:
		return engine{
			program: "podman",
			save:    []string{"save", "--format", "docker-archive", "IMAGE"},
			sockets: func() []string {
				return []string{
					unixSocket(os.Getenv("CONTAINER_HOST")),
					filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "podman", "podman.sock"),
					"/run/podman/podman.sock",
				}
			},
			install: "podman",
		}
	}
	return engine{
		program: "buildah",
		save:    []string{"push", "--quiet", "--disable-compression", "IMAGE", "docker-archive:FILE"},
		install: "buildah",
	}
}

// unixSocket is the path of a unix:// address.
func unixSocket(address string) string {
	path, ok := strings.CutPrefix(address, "unix://")
	if !ok {
		return ""
	}
	return path
}

// openEngine has an engine save the image to a file that has no name any more
// when the image is used, so nothing of it can be left.
func openEngine(ctx context.Context, ref Ref, want Platform, o Options) (*Image, error) {
	dir, err := os.MkdirTemp(o.TempDir, ".save-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	e := engineOf(ref.Kind)
	o.notice("waiting for %s to save %s", e.program, ref.Repository)
	file, err := e.saved(ctx, ref, filepath.Join(dir, "image.tar"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	img, err := archiveImage(ctx, file, "", want)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	img.Reference = ref.String()
	return img, nil
}

// saved has the image saved in a file, by the engine's program or by its service.
func (e engine) saved(ctx context.Context, ref Ref, path string) (*os.File, error) {
	if _, err := exec.LookPath(e.program); err == nil {
		return e.bySelf(ctx, ref, path)
	}
	if socket := e.listening(); socket != "" {
		return byService(ctx, socket, ref, path)
	}
	return nil, fmt.Errorf("there is no %s here; `apt install %s` brings it", e.program, e.install)
}

// listening is the socket of the engine's service, if it runs.
func (e engine) listening() string {
	if e.sockets == nil {
		return ""
	}
	for _, s := range e.sockets() {
		if info, err := os.Stat(s); err == nil && info.Mode()&os.ModeSocket != 0 {
			return s
		}
	}
	return ""
}

// bySelf runs the engine's program.
func (e engine) bySelf(ctx context.Context, ref Ref, path string) (*os.File, error) {
	args := make([]string, len(e.save))
	toFile := false
	for i, a := range e.save {
		toFile = toFile || strings.Contains(a, "FILE")
		args[i] = strings.NewReplacer("IMAGE", ref.Repository, "FILE", path).Replace(a)
	}
	cmd := exec.CommandContext(ctx, e.program, args...)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	if !toFile {
		out, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		defer out.Close()
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", e.program, e.save[0], firstOf(context.Cause(ctx), lastLine(said.String(), err)))
	}
	return os.Open(path)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lastLine is what a program that failed said last.
func lastLine(said string, err error) error {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return errors.New(last)
	}
	return err
}

// byService asks an engine's service, which speaks Docker's protocol.
func byService(ctx context.Context, socket string, ref Ref, path string) (*os.File, error) {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	defer tr.CloseIdleConnections()
	ask := "http://engine/images/" + url.PathEscape(ref.Repository) + "/get"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ask, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the service at %s: %w", socket, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("the service at %s answers %s: %s", socket, resp.Status, strings.TrimSpace(string(text)))
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(file, resp.Body); err != nil {
		file.Close()
		return nil, fmt.Errorf("read from the service at %s: %w", socket, err)
	}
	return file, nil
}
