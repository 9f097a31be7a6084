package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMayRead holds that root reads for a job only what belongs to its user.
func TestMayRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	me := os.Geteuid()
	for name, c := range map[string]struct {
		caller, uid int
		want        string
	}{
		"root_of_another_user": {0, me + 1, "is not read by root: it belongs to user"},
		"root_of_nobody_known": {0, -1, "whose job it is is not known"},
		"root_of_root":         {0, 0, ""},
		"root_of_the_owner":    {0, me, ""},
		"the_user":             {1000, 1000, ""},
		"a_colleague_who_may":  {1001, 1000, ""},
	} {
		err := mayRead(info, path, c.caller, c.uid)
		if (err == nil) != (c.want == "") || err != nil && !(strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRootFollowsNoLinkOfAnothers holds it for all that reads logs: a user's log is a link to root's file. Only root can try.
func TestRootFollowsNoLinkOfAnothers(t *testing.T) {
	if os.Geteuid() != 0 {
		return // the kernel decides for others
	}
	dir := t.TempDir()
	secret, log := filepath.Join(dir, "shadow"), filepath.Join(dir, "log")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, log); err != nil {
		t.Fatal(err)
	}
	const user = 1000
	read := map[string]func() error{
		"logs": func() error {
			var b strings.Builder
			o := &Output{Path: log, UID: user}
			defer o.Close()
			_, err := o.Copy(&b)
			if err != nil && b.Len() > 0 {
				t.Errorf("it printed %q", b.String())
			}
			return err
		},
		"curve":    func() error { return (&Curve{Path: log, UID: user}).Look() },
		"lines":    func() error { _, err := LastLines(log, user, 2); return err },
		"progress": func() error { _, _, err := ReadProgress(log, user); return err },
		"report":   func() error { _, err := ReadSamples(log, user, 1<<20); return err },
	}
	for name, one := range read {
		if err := one(); err == nil || !strings.Contains(err.Error(), log) {
			t.Errorf("%s: root read what a link led to: %v", name, err)
		}
	}
	if err := os.Chown(secret, user, user); err != nil {
		t.Fatal(err)
	}
	for name, one := range read {
		if err := one(); name != "logs" && err != nil {
			t.Errorf("%s: a link to the user's own file: %v", name, err)
		}
	}
}
