package local

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// installedIn are the directories of this machine that change when something is
// installed: by Debian, by hand, or by Python.
var installedIn = []string{
	"/var/lib/dpkg", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/usr/lib", "/usr/local/lib", "/opt", "/etc",
	"/usr/local/lib/python3*/dist-packages",
}

// environments are the same for an environment of Python or conda.
var environments = []string{"bin", "conda-meta", "lib", "lib/python3*/site-packages"}

// InstalledIn are the directories in which programs of an environment are installed.
func InstalledIn(environ []string) []string {
	patterns := append([]string{}, installedIn...)
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if name != "VIRTUAL_ENV" && name != "CONDA_PREFIX" {
			continue
		}
		for _, e := range environments {
			patterns = append(patterns, filepath.Join(value, e))
		}
	}
	var dirs []string
	for _, p := range append(patterns, activePaths(environ)...) {
		if found, err := filepath.Glob(p); err == nil { // a path that is no pattern names nothing
			dirs = append(dirs, found...)
		}
	}
	return dirs
}

// Stamp is another one whenever something comes into one of the directories, or goes.
func Stamp(dirs []string) string {
	sum := sha256.New()
	for _, d := range dirs {
		var st unix.Stat_t
		if unix.Stat(d, &st) == nil {
			fmt.Fprintf(sum, "%s %d %d %d\n", d, st.Ino, st.Mtim.Sec, st.Mtim.Nsec)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// refreshWait is how long a command waits for machines to look anew.
const refreshWait = 2 * time.Second

// Refresh has the controller let all machines look anew at this machine's files.
func Refresh(ctx context.Context, l *nodes.Layout) error {
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	return Controller(l).Refresh(ctx)
}

// lookAgain is how often WatchInstalled looks.
const lookAgain = 3 * time.Second

// WatchInstalled refreshes whenever something is installed on this machine, until ctx
// ends.
func WatchInstalled(ctx context.Context, refresh func() error, log *slog.Logger) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for last := Stamp(InstalledIn(nil)); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := Stamp(InstalledIn(nil))
		if now == last {
			continue
		}
		if err := refresh(); err != nil {
			log.Warn("have machines look anew", "cause", err)
			continue
		}
		last = now
	}
}

// refreshed has all machines look anew if something was installed since the last
// command with this environment.
func refreshed(ctx context.Context, l *nodes.Layout, environ []string) error {
	file, stamp := l.Path("etc", "installed"), Stamp(InstalledIn(environ))
	if last, err := whole.Read(file); err == nil && string(last) == stamp {
		return nil
	}
	if err := Refresh(ctx, l); err != nil {
		return err
	}
	return whole.Write(file, []byte(stamp), 0o600)
}
