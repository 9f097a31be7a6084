//go:build linux

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/container"
	"github.com/muster-hpc/muster/internal/image"
)

// asPath makes the name of a file here a path.
func asPath(name string) string {
	if container.IsPath(name) || strings.Contains(name, "://") {
		return name
	}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return "./" + name
	}
	return name
}

// imageFile is the file of an image that is named by its path or by where it is to be
// had. The latter is brought by a muster of the user's own: what comes from outside
// is never read by root. Its progress goes to stderr.
func (a *app) imageFile(ctx context.Context, name string, o container.Options) (string, error) {
	if name == "" || container.IsPath(name) {
		return name, nil
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "image", "ensure", "--tell-why")
	env := envOf(o.Environ)
	if id := env["SLURM_JOB_ID"]; id != "" {
		cmd.Args = append(cmd.Args, "--key", id+"."+env["SLURM_STEP_ID"])
	}
	if o.Dir != "" {
		cmd.Args = append(cmd.Args, "--dir", o.Dir)
	}
	cmd.Args = append(cmd.Args, "--", name)
	var out bytes.Buffer
	why, theirs, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer why.Close()
	cmd.ExtraFiles = []*os.File{theirs} // whyFD
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &out, a.err, "/", o.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() == 0 && o.User.UID != 0 {
		cmd.SysProcAttr.Credential = credentialOf(o.User)
	}
	runtime.LockOSThread() // it ends with the thread that starts it
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	theirs.Close()
	if err == nil {
		// It ends its part of the pipe with itself.
		reason, _ := io.ReadAll(io.LimitReader(why, maxReason))
		if err = cmd.Wait(); len(reason) > 0 {
			err = errors.New(string(reason))
		}
	}
	if err != nil {
		// Pyxis's words: scripts look for them.
		err = fmt.Errorf("failed to import docker image: %s: %w", name, err)
		if hint := (&imagePlace{}).meant(a, name); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// absent is what to say of the file of an image that is not there.
func (a *app) absent(name string) string {
	if hint := (&imagePlace{}).meant(a, name); hint != "" {
		return hint
	}
	return "`muster image list` shows which images there are"
}

const imageEnding = ".sqsh"

// meant asks back if the cluster has an image of that name, which was given without
// its directory or its ending, or with a wrong directory.
func (p *imagePlace) meant(a *app, name string) string {
	base := strings.TrimSuffix(filepath.Base(name), imageEnding) + imageEnding
	if strings.ContainsAny(base, ":@#") || !container.IsPath(name) && strings.Contains(name, "/") || p.findDir(a) != nil {
		return ""
	}
	file := filepath.Join(p.Dir, base)
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || file == filepath.Clean(name) {
		return ""
	}
	return "did you mean " + filepath.Join(cmp.Or(p.OnNodes, p.Dir), base) + "?"
}

// whyFD is the descriptor on which a process that imports an image reports its error to
// its parent, in at most maxReason bytes.
const (
	whyFD     = 3
	maxReason = 16 << 10
)

func credentialOf(u container.User) *syscall.Credential {
	c := &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
	for _, g := range u.Groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}

func envOf(list []string) map[string]string {
	env := map[string]string{}
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// seal puts a checksum into the image that a container was saved to. What ends the command
// does not break it off: the container ends then, and is saved.
func seal(ctx context.Context) func(f *os.File) error {
	info, _ := debug.ReadBuildInfo()
	version := versionOf(info).Version
	return func(f *os.File) error { return image.Seal(context.WithoutCancel(ctx), f, version) }
}

// describe reads what an image of ours says of itself. One that a step has saved says it
// in its files, as those of others do.
func describe(f *os.File) (container.Config, bool, error) {
	m, found, err := image.ReadMeta(f)
	return container.Config{Env: m.Env, Entrypoint: m.Entrypoint, Cmd: m.Cmd, Workdir: m.Workdir, Volumes: m.Volumes}, found && m.Saved.IsZero(), err
}
