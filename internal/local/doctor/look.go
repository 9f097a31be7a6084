package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lookLimit bounds each program that look asks.
const lookLimit = 20 * time.Second

// look sees what this machine has. It changes nothing. An error means that ctx
// ended.
func look(ctx context.Context, o Options) (Facts, error) {
	f := Facts{
		System: runtime.GOOS, Machine: runtime.GOARCH, Root: os.Geteuid() == 0, Cores: runtime.NumCPU(),
		Programs: map[string]string{}, Files: map[string]bool{}, Users: map[string]bool{},
		Known: map[string]bool{}, Blind: map[string]string{}, StateDir: o.StateDir,
	}
	f.OS = parseRelease(readText("/etc/os-release"))
	f.Apt = findProgram("apt-get") != "" && findProgram("dpkg") != ""
	f.lookForNeeds(o)
	for _, u := range users {
		_, err := user.Lookup(u.name)
		f.Users[u.name] = err == nil
	}
	f.lookForRoom(o.StateDir)
	f.Running, f.Enabled = runningDaemons("/proc"), enabledUnits("/etc")
	f.Limits = namespaceLimits()
	f.Namespaces, f.Overlay = tryNamespaces(ctx), tryOverlay(ctx)
	f.Fuse = lookAtFuse("/dev/fuse")
	if path := f.Programs["slurmctld"]; path != "" {
		f.lookForVersion(ctx, path)
	}
	if f.Apt {
		f.lookAtPackages(ctx, o)
	}
	return f, context.Cause(ctx)
}

func (f *Facts) lookForNeeds(o Options) {
	for _, n := range o.needs() {
		for _, program := range n.programs {
			f.Programs[program] = findProgram(program)
		}
		for _, pattern := range n.files {
			f.Files[pattern] = matches(pattern)
		}
	}
}

// findProgram looks in the PATH and, since it is often not in an ordinary
// user's, in the administrator's folders.
func findProgram(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// matches says whether a file fits a pattern, which may have one {a,b,c}.
func matches(pattern string) bool {
	before, rest, alternatives := strings.Cut(pattern, "{")
	choices, after, _ := strings.Cut(rest, "}")
	if !alternatives {
		choices, after = "", ""
	}
	return slices.ContainsFunc(strings.Split(choices, ","), func(choice string) bool {
		found, err := filepath.Glob(before + choice + after)
		return err == nil && len(found) > 0
	})
}

func (f *Facts) lookForVersion(ctx context.Context, slurmctld string) {
	out, err := output(ctx, slurmctld, "-V")
	if err != nil {
		f.Blind["slurm"] = err.Error()
		return
	}
	if words := strings.Fields(out); len(words) > 0 {
		f.SlurmVersion = words[len(words)-1]
	}
}

// lookForRoom reads the free memory and the free space on the disk of dir, or
// of the nearest folder above it that exists.
func (f *Facts) lookForRoom(dir string) {
	var err error
	if f.FreeMemory, err = freeMemory(readText("/proc/meminfo")); err != nil {
		f.Blind["memory"] = err.Error()
	}
	for dir != "/" && dir != "." && dir != "" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(cmp.Or(dir, "/"), &disk); err != nil {
		f.Blind["disk"] = err.Error()
		return
	}
	f.FreeDisk = int64(disk.Bavail) * disk.Bsize
}

func lookAtFuse(path string) Fuse {
	info, err := os.Stat(path)
	if err != nil {
		return Fuse{}
	}
	return Fuse{Present: true, Mine: unix.Access(path, unix.R_OK|unix.W_OK) == nil, Everyones: info.Mode().Perm()&0o006 == 0o006}
}

// freeMemory is the available memory in bytes.
func freeMemory(meminfo string) (int64, error) {
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "MemAvailable:" {
			continue
		}
		kib, err := strconv.ParseInt(words[1], 10, 53)
		return kib << 10, err
	}
	return 0, fmt.Errorf("/proc/meminfo does not say what is available")
}

// runningDaemons are the daemons that run in this process's own namespaces:
// those of clusters in namespaces of their own do not count.
func runningDaemons(proc string) []string {
	own, depth := namespacesOf(filepath.Join(proc, "self"))
	var running []string
	files, _ := filepath.Glob(filepath.Join(proc, "[0-9]*/comm"))
	for _, file := range files {
		name := strings.TrimSpace(readText(file))
		if !slices.Contains(daemons, name) || slices.Contains(running, name) {
			continue
		}
		// Another user's mount namespace cannot be read; its depth can.
		if mounts, deep := namespacesOf(filepath.Dir(file)); deep > depth || mounts != "" && mounts != own {
			continue
		}
		running = append(running, name)
	}
	slices.Sort(running)
	return running
}

// namespacesOf are a process's mount namespace, "" if it cannot be read, and how
// many process namespaces the process is in.
func namespacesOf(process string) (mounts string, depth int) {
	mounts, _ = os.Readlink(filepath.Join(process, "ns/mnt"))
	for line := range strings.Lines(readText(filepath.Join(process, "status"))) {
		if pids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			depth = len(strings.Fields(pids))
		}
	}
	return mounts, depth
}

// enabledUnits are the services that start with the machine, by systemd's
// links or by System V's.
func enabledUnits(etc string) []string {
	var enabled []string
	for _, unit := range units {
		systemd, _ := filepath.Glob(filepath.Join(etc, "systemd/system/*.wants", unit+".service"))
		systemV, _ := filepath.Glob(filepath.Join(etc, "rc[2-5].d/S[0-9][0-9]"+unit))
		if len(systemd)+len(systemV) > 0 {
			enabled = append(enabled, unit)
		}
	}
	return enabled
}

func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// parseRelease reads os-release.
func parseRelease(text string) Release {
	var r Release
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID":
			r.ID = value
		case "ID_LIKE":
			r.Like = strings.Fields(value)
		case "PRETTY_NAME":
			r.Name = value
		}
	}
	return r
}

// output runs a program that only looks, and returns what it printed. An error
// has the first line that the program complained with.
func output(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("no answer within %v", lookLimit))
	defer cancel()
	return finish(ctx, exec.CommandContext(ctx, name, args...))
}

// finish runs a program to its end.
func finish(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	name := filepath.Base(cmd.Path)
	switch said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", name, context.Cause(ctx))
	case err != nil && said != "":
		return stdout.String(), fmt.Errorf("%s: %s", name, said)
	case err != nil:
		return stdout.String(), fmt.Errorf("%s: %w", name, err)
	}
	return stdout.String(), nil
}
