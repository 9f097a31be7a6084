package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGuard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "guard")
	// What a killed run left behind.
	if err := os.MkdirAll(filepath.Join(dir, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := openGuard(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"invoke-rc.d", "deb-systemd-invoke", "deb-systemd-helper", "update-rc.d"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := openGuard(dir); err == nil {
		t.Error("two installations at once")
	}
	if info, err := g.lock.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can lock out root: %v, %v", info.Mode(), err)
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// TestGuardStartsNothing asks the stand-ins to start services that do not exist.
func TestGuardStartsNothing(t *testing.T) {
	g, err := openGuard(filepath.Join(t.TempDir(), "guard"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	cases := map[string]struct {
		argv []string
		want string
	}{
		"start":         {[]string{"invoke-rc.d", "--quiet", "muster-none", "start"}, "muster-none: left as it is (start)\n"},
		"restart":       {[]string{"invoke-rc.d", "muster-none", "restart"}, "muster-none: left as it is (restart)\n"},
		"start_unit":    {[]string{"deb-systemd-invoke", "start", "muster-none.service", "b.service"}, "muster-none.service: left as it is (start)\nb.service: left as it is (start)\n"},
		"restart_units": {[]string{"deb-systemd-invoke", "--user", "restart", "muster-none.service"}, "muster-none.service: left as it is (restart)\n"},
	}
	for name, c := range cases {
		got, err := output(t.Context(), filepath.Join(g.dir, c.argv[0]), c.argv[1:]...)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestRunStep(t *testing.T) {
	g, err := openGuard(filepath.Join(t.TempDir(), "guard"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	var out bytes.Buffer
	if err := g.run(t.Context(), step{argv: []string{"sh", "-c", "echo $PATH $DEBIAN_FRONTEND"}}, &out); err != nil {
		t.Error(err)
	}
	if want := g.dir + ":/usr/sbin:/usr/bin:/sbin:/bin noninteractive\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if err := g.run(t.Context(), step{argv: []string{"sh", "-c", "exit 9"}}, &out); err == nil || !strings.Contains(err.Error(), "exit status 9") {
		t.Errorf("got %v", err)
	}
	if err := g.run(t.Context(), step{argv: []string{"sh", "-c", "exit 9"}, mayFail: true}, &out); err != nil {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("stopped"))
	defer cancel()
	if err := g.run(ctx, step{argv: []string{"sleep", "60"}}, &out); err == nil || err.Error() != "sleep 60: stopped" {
		t.Errorf("got %v", err)
	}
}

// TestInstallForReal installs on the machine it runs on, and so runs only in a
// Debian that may be thrown away, as root.
func TestInstallForReal(t *testing.T) {
	if os.Getenv("MUSTER_TEST_INSTALL") == "" {
		t.Skip("lacks MUSTER_TEST_INSTALL=1, which says that this Debian may be thrown away")
	}
	groups := []string{Local}
	if os.Getenv("MUSTER_TEST_INSTALL") == Demo {
		groups = append(groups, Demo)
	}
	options := Options{Groups: groups, Install: true, Yes: true, Now: time.Now(), Out: os.Stderr, StateDir: "/var/lib/muster"}
	report, err := Run(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Missing) > 0 || len(report.Installed) == 0 {
		t.Errorf("installed %v, missing %v", report.Installed, report.Missing)
	}
	if _, err := os.Stat(guardDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", guardDir, err)
	}
	for _, f := range report.Checks {
		if (strings.HasPrefix(f.Name, "package") || strings.HasPrefix(f.Name, "user") || f.Name == "installation") && f.Status != Pass {
			t.Errorf("%+v", f)
		}
	}
	again, err := Run(t.Context(), options)
	if err != nil || len(again.Installed) > 0 || slices.ContainsFunc(again.Checks, func(f Finding) bool { return f.Name == "installation" }) {
		t.Errorf("a second run installed %v, %v", again.Installed, err)
	}
}
