package sudo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/local/sudo"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]sudo.Order{
		"bash x.sh -u":            {Words: []string{"bash", "x.sh", "-u"}},
		"-E -u ada -- make -j":    {User: "ada", KeepAll: true, Words: []string{"make", "-j"}},
		"-nHuada A=1 B=2 env":     {User: "ada", Home: true, Set: []string{"A=1", "B=2"}, Words: []string{"env"}},
		"--user=ada -i":           {User: "ada", Login: true},
		"--preserve-env=A,B true": {Keep: []string{"A", "B"}, Words: []string{"true"}},
		"--group wheel -s ls":     {Group: "wheel", Shell: true, Words: []string{"ls"}},
		"-p prompt -D / pwd":      {Dir: "/", Words: []string{"pwd"}},
		"-v":                      {Nothing: true},
	} {
		got, err := sudo.Parse(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", line, diff)
		}
	}
	for _, line := range []string{"", "-E", "-u", "--user", "-Z ls", "--what ls", "A=1"} {
		if o, err := sudo.Parse(strings.Fields(line)); err == nil {
			t.Errorf("%q is understood: %+v", line, o)
		}
	}
}

var (
	root = sudo.User{Name: "root", Home: "/root", Shell: "/bin/bash"}
	ada  = sudo.User{Name: "ada", UID: 1000, GID: 1000, Home: "/home/ada", Shell: "/bin/bash"}
	// other is ada's other name.
	other = sudo.User{Name: "ubuntu", UID: 1000, GID: 1000, Home: "/home/ubuntu", Shell: "/bin/bash"}
	bob   = sudo.User{Name: "bob", UID: 1001, GID: 1001, Home: "/home/bob", Shell: "/bin/bash"}
)

func TestPlan(t *testing.T) {
	for name, try := range map[string]struct {
		options        string
		caller, wanted sudo.User
		line, note     string
		home           string
	}{
		"root_is_root":          {"bash x.sh", root, root, "bash x.sh", "", "/root"},
		"root_becomes_a_user":   {"-u ada id", root, ada, "/usr/bin/setpriv --reuid=1000 --regid=1000 --init-groups -- id", "", "/home/ada"},
		"a_user_is_himself":     {"id", ada, root, "id", "ada cannot become root here: this runs as ada", "/home/ada"},
		"a_user_by_his_name":    {"-u ubuntu id", ada, other, "id", "", "/home/ubuntu"},
		"a_shell_runs_words":    {"-s echo it's", root, root, `/bin/bash -c echo 'it'\''s'`, "", "/root"},
		"a_login_shell":         {"-i", root, ada, "/usr/bin/setpriv --reuid=1000 --regid=1000 --init-groups -- /bin/bash -l", "", "/home/ada"},
		"home_stays_with_the_e": {"-E id", root, ada, "/usr/bin/setpriv --reuid=1000 --regid=1000 --init-groups -- id", "", "/old"},
	} {
		o, err := sudo.Parse(strings.Fields(try.options))
		if err != nil {
			t.Fatal(err)
		}
		r, err := sudo.Plan(o, try.caller, try.wanted, -1, []string{"HOME=/old", "A=1"}, []string{"/bin"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(r.Line, " "); got != try.line {
			t.Errorf("%s runs %q, want %q", name, got, try.line)
		}
		if r.Note != try.note {
			t.Errorf("%s says %q, want %q", name, r.Note, try.note)
		}
		if !slices.Contains(r.Env, "HOME="+try.home) {
			t.Errorf("%s: no home directory %s: %q", name, try.home, r.Env)
		}
		if slices.Contains(r.Env, "A=1") != o.KeepAll {
			t.Errorf("%s: environment %q", name, r.Env)
		}
	}
}

func TestPlan_gives_no_rights(t *testing.T) {
	for name, try := range map[string]struct {
		wanted sudo.User
		group  int
	}{"another_user": {bob, -1}, "another_group": {ada, 27}, "a_group_of_root": {root, 0}} {
		r, err := sudo.Plan(sudo.Order{Words: []string{"id"}}, ada, try.wanted, try.group, nil, nil)
		if err == nil {
			t.Errorf("%s: runs %q", name, r.Line)
		}
	}
}
