package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var localPackages = []string{"slurmctld", "slurmd", "slurmdbd", "slurm-wlm-mysql-plugin", "slurmrestd", "slurm-client",
	"slurm-wlm-basic-plugins", "munge", "mariadb-server-core", "mariadb-client-core",
	"gcc", "libc6-dev", "libslurm-dev", "squashfuse", "squashfs-tools", "libpmix-dev", "openssh-server"}

var demoPackages = []string{"mmdebstrap", "uidmap"}

func TestNewPlan(t *testing.T) {
	cases := map[string]struct {
		facts  func() Facts
		groups []string
		want   Plan
	}{
		"nothing_missing": {healthy, nil, Plan{Known: true}},
		"fresh_debian":    {bare, nil, Plan{Packages: localPackages, Known: true}},
		"with_the_demo":   {bare, []string{Local, Demo}, Plan{Packages: append(slices.Clone(localPackages), demoPackages...), Known: true}},
		"demo_alone":      {bare, []string{Demo}, Plan{Packages: demoPackages, Known: true}},
		"no_lists": {func() Facts { f := bare(); f.Known = nil; return f }, nil,
			Plan{Packages: localPackages, Update: true}},
		"one_unknown": {func() Facts { f := bare(); f.Known["munge"] = false; return f }, nil,
			Plan{Packages: localPackages, Update: true}},
		"old_lists": {func() Facts { f := bare(); f.ListsAge = 25 * time.Hour; return f }, nil,
			Plan{Packages: localPackages, Update: true, Known: true}},
		"old_lists_unused": {func() Facts { f := healthy(); f.ListsAge = 25 * time.Hour; return f }, nil, Plan{Known: true}},
		"cut_off": {func() Facts { f := healthy(); f.Unfinished, f.Half = true, []string{"munge"}; return f }, nil,
			Plan{Known: true, Repair: true}},
		"others_cut_off": {func() Facts { f := healthy(); f.Unfinished = true; return f }, nil, Plan{Known: true}},
		"others_in_the_way": {func() Facts { f := bare(); f.Unfinished = true; return f }, []string{Demo},
			Plan{Packages: demoPackages, Known: true, Repair: true}},
		"no_apt":                  {func() Facts { f := bare(); f.Apt = false; return f }, nil, Plan{}},
		"closed_fuse":             {func() Facts { f := healthy(); f.Fuse.Everyones = false; return f }, nil, Plan{Known: true, OpenFuse: true}},
		"closed_fuse_without_apt": {func() Facts { f := healthy(); f.Apt, f.Fuse.Everyones = false, false; return f }, nil, Plan{OpenFuse: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newPlan(c.facts(), Options{Groups: c.groups})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	cases := map[string]struct {
		plan Plan
		root bool
		self string
		want string
	}{
		"user":   {Plan{Packages: []string{"munge", "slurmd"}}, false, "", "sudo apt-get install --no-install-recommends munge slurmd"},
		"root":   {Plan{Packages: []string{"munge"}, Update: true}, true, "", "apt-get update && apt-get install --no-install-recommends munge"},
		"fuse":   {Plan{Known: true, OpenFuse: true}, false, "", "sudo chmod 0666 /dev/fuse"},
		"repair": {Plan{Repair: true}, false, "", "sudo dpkg --configure -a"},
		"self":   {Plan{Packages: []string{"munge"}, Update: true}, false, "/usr/bin/muster doctor --install", "sudo /usr/bin/muster doctor --install"},
	}
	for name, c := range cases {
		if got := c.plan.command(c.root, c.self); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestSteps(t *testing.T) {
	plan := Plan{Packages: []string{"munge", "slurmd"}, Update: true, Repair: true}
	var got []string
	for _, s := range plan.steps("/guard:/bin") {
		if s.argv[0] == "apt-get" && s.mayFail {
			t.Errorf("%v may fail, but the packages are not known", s.argv)
		}
		got = append(got, strings.Join(s.argv, " "))
	}
	want := []string{
		"dpkg --force-confold --configure -a",
		"apt-get update -o DPkg::Lock::Timeout=300",
		"apt-get install --yes --no-install-recommends --no-remove --fix-broken -o DPkg::Lock::Timeout=300 -o DPkg::Path=/guard:/bin" +
			" -o Dpkg::Options::=--force-confold munge slurmd",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := (Plan{Packages: []string{"munge"}, Update: true, Known: true}).steps("")[0]; !s.mayFail {
		t.Error("old lists that know the packages must do")
	}
	if s := (Plan{Repair: true}).steps(""); len(s) != 2 {
		t.Errorf("a repair alone has %d steps", len(s))
	}
}
