package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are in the image, with the libraries that they need.
var programs = []string{"sh", "ls", "cat", "id", "true", "false", "sleep", "mkdir", "echo", "env", "pwd", "touch", "rm", "mount", "stat",
	"chown", "dd", "grep", "sed", "readlink", "seq", "setsid", "kill", "head", "hostname", "wc", "umount", "ulimit", "tty", "ln", "mv"}

func makeTree(tree string) error {
	for _, d := range []string{"bin", "etc", "usr/lib", "tmp", "home", "root", "lib64", "var", "proc", "sys", "dev", "run", "opt"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			return err
		}
	}
	for _, name := range programs {
		from, err := exec.LookPath(name)
		if err != nil {
			continue // a builtin of the shell's
		}
		if err := copyFile(from, filepath.Join(tree, "bin", name), 0o755); err != nil {
			return err
		}
		out, _ := exec.Command("ldd", from).Output() // fails for static programs
		for _, word := range strings.Fields(string(out)) {
			if !strings.HasPrefix(word, "/") {
				continue
			}
			if err := copyFile(word, filepath.Join(tree, word), 0o755); err != nil {
				return err
			}
		}
	}
	files := map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/bash\n_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\ndaemon:x:1:1::/:/bin/sh\n",
		"etc/group":  "root:x:0:\n", "etc/debian_version": "12.0\n", "opt/file": "of the image\n",
		"etc/environment": "PATH=/bin:/usr/bin\nFROM_IMAGE=yes\nGREETING=image\nWHERE=${HOME}/x\nPYTORCH_VERSION=2.6\n",
		"etc/rc":          "mkdir -p \"/work dir\" 2> /dev/null\ncd \"/work dir\" && unset OLDPWD || exit 1\necho banner\nexport FROM_ENTRYPOINT=yes\nexec \"$@\"\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(
		os.Symlink("../run/systemd/resolve/stub-resolv.conf", filepath.Join(tree, "etc/resolv.conf")),
		os.Symlink("../run", filepath.Join(tree, "var/run")), os.Symlink("/run/lock", filepath.Join(tree, "var/lock")),
		os.Symlink("/etc", filepath.Join(tree, "opt/outside")), os.Symlink("../../../../..", filepath.Join(tree, "opt/up")),
	)
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, data, mode), os.Chmod(to, mode))
}

func squash(tree, to string, more ...string) error {
	args := append([]string{tree, to, "-comp", "zstd", "-noappend", "-no-progress", "-quiet"}, more...)
	if len(more) == 0 {
		args = append(args, "-all-root")
	}
	out, err := exec.Command("mksquashfs", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
