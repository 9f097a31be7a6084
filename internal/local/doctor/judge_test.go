package doctor

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// healthy is a machine that has all.
func healthy() Facts {
	f := Facts{
		System: "linux", Machine: "amd64", OS: Release{ID: "debian", Name: "Debian GNU/Linux 12 (bookworm)"}, Apt: true, Root: true,
		Programs: map[string]string{}, Files: map[string]bool{}, Users: map[string]bool{"slurm": true, "munge": true},
		SlurmVersion: "22.05.8", Namespaces: Trial{Worked: true}, Overlay: Trial{Worked: true}, Fuse: Fuse{true, true, true}, Limits: map[string]string{}, Cores: 2,
		FreeMemory: 8e9, FreeDisk: 50e9, StateDir: "/var/lib/muster", Known: map[string]bool{}, Blind: map[string]string{}, ListsAge: time.Hour,
	}
	for _, n := range allNeeds {
		for _, program := range n.programs {
			f.Programs[program] = "/usr/bin/" + program
		}
		for _, file := range n.files {
			f.Files[file] = true
		}
	}
	return f
}

// bare is a fresh Debian.
func bare() Facts {
	f := healthy()
	f.Programs, f.Files, f.Users, f.SlurmVersion = map[string]string{}, map[string]bool{}, map[string]bool{}, ""
	for _, program := range []string{"setpriv", "nsenter", "unshare", "mount"} {
		f.Programs[program] = "/usr/bin/" + program
	}
	for _, n := range allNeeds {
		f.Known[n.pkg] = true
	}
	return f
}

func TestJudgeHealthy(t *testing.T) {
	for _, f := range judge(healthy(), Options{Groups: []string{Local, Demo}}) {
		if f.Status != Pass || f.Hint != "" {
			t.Errorf("%+v", f)
		}
	}
}

// pmixFile is the one that an optional package has.
func pmixFile() string {
	i := slices.IndexFunc(allNeeds, func(n need) bool { return n.pkg == "libpmix-dev" })
	return allNeeds[i].files[0]
}

// TestJudge changes one thing of a healthy machine and looks at one check.
func TestJudge(t *testing.T) {
	cases := map[string]struct {
		change func(*Facts)
		want   Finding
	}{
		"other_system":    {func(f *Facts) { f.System = "darwin" }, Finding{"system", Fail, "darwin on amd64: clusters of this machine's own need Linux", ""}},
		"other_machine":   {func(f *Facts) { f.Machine = "riscv64" }, Finding{"system", Warn, "linux on riscv64: tried on amd64 and arm64 only", ""}},
		"arm":             {func(f *Facts) { f.Machine = "arm64" }, Finding{"system", Pass, "linux on arm64", ""}},
		"derivative":      {func(f *Facts) { f.OS = Release{ID: "ubuntu", Name: "Ubuntu", Like: []string{"debian"}} }, Finding{"debian", Pass, "Ubuntu, which has Debian's packages", ""}},
		"fedora_complete": {func(f *Facts) { f.Apt, f.OS = false, Release{ID: "fedora", Name: "Fedora"} }, Finding{"debian", Warn, "Fedora is not Debian; what is needed is here nevertheless", ""}},
		"fedora_lacking": {func(f *Facts) { f.Apt, f.OS, f.Programs["munged"] = false, Release{ID: "fedora"}, "" },
			Finding{"debian", Fail, "fedora is not Debian, and what is missing can only be installed from Debian", "install by your system's own means: munge"}},
		"no_munge": {func(f *Facts) { f.Programs["munged"], f.Programs["mungekey"] = "", "" },
			Finding{"package/munge", Fail, "authentication between nodes: missing munged, mungekey", "apt-get install --no-install-recommends munge"}},
		"no_munge_as_user": {func(f *Facts) { f.Programs["munged"], f.Root = "", false },
			Finding{"package/munge", Fail, "authentication between nodes: missing munged", "sudo apt-get install --no-install-recommends munge"}},
		"no_plugin": {func(f *Facts) { f.Files[plugins+"accounting_storage_slurmdbd.so"] = false },
			Finding{"package/slurm-wlm-basic-plugins", Fail, "Slurm's plugins: missing accounting_storage_slurmdbd.so", "apt-get install --no-install-recommends slurm-wlm-basic-plugins"}},
		"no_pmix": {func(f *Facts) { clear(f.Files) },
			Finding{"package/libpmix-dev", Warn, "srun --mpi=pmix, by which MPI programs start: missing libpmix.so", "apt-get install --no-install-recommends libpmix-dev"}},
		"fedora_without_pmix": {func(f *Facts) {
			f.Apt, f.OS = false, Release{ID: "fedora", Name: "Fedora"}
			delete(f.Files, pmixFile())
		},
			Finding{"debian", Warn, "Fedora is not Debian; what is needed is here nevertheless", ""}},
		"no_mmdebstrap":   {func(f *Facts) { f.Programs["mmdebstrap"] = "" }, Finding{"package/mmdebstrap", Fail, "the image of muster demo --whole: missing mmdebstrap", "apt-get install --no-install-recommends mmdebstrap"}},
		"cut_off":         {func(f *Facts) { f.Unfinished, f.Half = true, []string{"munge", "slurmd"} }, Finding{"packages", Fail, "an installation was cut off: munge, slurmd", "sudo dpkg --configure -a"}},
		"others_cut_off":  {func(f *Facts) { f.Unfinished = true }, Finding{"packages", Warn, "an installation of other packages was cut off", "sudo dpkg --configure -a"}},
		"mute_dpkg":       {func(f *Facts) { f.Blind["packages"] = "dpkg: killed" }, Finding{"packages", Blind, "dpkg: killed", ""}},
		"newest_slurm":    {func(f *Facts) { f.SlurmVersion = "25.11.7" }, Finding{"slurm", Pass, "Slurm 25.11.7", ""}},
		"newer_slurm":     {func(f *Facts) { f.SlurmVersion = "26.05.0" }, Finding{"slurm", Warn, "Slurm 26.05.0: 22.05 to 25.11 are known to work", ""}},
		"older_slurm":     {func(f *Facts) { f.SlurmVersion = "21.08.8-2" }, Finding{"slurm", Warn, "Slurm 21.08.8-2: 22.05 to 25.11 are known to work", ""}},
		"odd_slurm":       {func(f *Facts) { f.SlurmVersion = "git" }, Finding{"slurm", Blind, `Slurm's version "git" is no version`, ""}},
		"mute_slurm":      {func(f *Facts) { f.Blind["slurm"] = "slurmctld: killed" }, Finding{"slurm", Blind, "Slurm's version: slurmctld: killed", ""}},
		"no_slurm":        {func(f *Facts) { f.Programs["slurmctld"] = "" }, Finding{"slurm", Skip, "Slurm is not installed", ""}},
		"no_user":         {func(f *Facts) { f.Users["slurm"] = false }, Finding{"user/slurm", Fail, "there is no user slurm", "adduser --system --group --no-create-home --home /nonexistent slurm"}},
		"user_to_come":    {func(f *Facts) { f.Users["munge"], f.Programs["munged"] = false, "" }, Finding{"user/munge", Skip, "user munge comes with munge", ""}},
		"user_not_needed": {func(f *Facts) { f.Users["munge"], f.Root = false, false }, Finding{"user/munge", Skip, "everything runs as you", ""}},
		"root_forbidden":  {func(f *Facts) { f.Namespaces = Trial{Said: "sh: not permitted"} }, Finding{"namespaces", Fail, "nodes cannot have namespaces of their own: sh: not permitted", "in a container: start it with --privileged"}},
		"user_forbidden":  {func(f *Facts) { f.Namespaces, f.Root = Trial{Said: "no"}, false }, Finding{"namespaces", Fail, "nodes cannot have namespaces of their own: no", "run it as root"}},
		"limit":           {func(f *Facts) { f.Namespaces, f.Limits["user.max_net_namespaces"] = Trial{Said: "no"}, "0" }, Finding{"namespaces", Fail, "nodes cannot have namespaces of their own: no", "sudo sysctl -w user.max_net_namespaces=10000"}},
		"debian_forbids": {func(f *Facts) {
			f.Namespaces, f.Root, f.Limits["kernel.unprivileged_userns_clone"] = Trial{Said: "no"}, false, "0"
		}, Finding{"namespaces", Fail, "nodes cannot have namespaces of their own: no", "sudo sysctl -w kernel.unprivileged_userns_clone=1"}},
		"apparmor_forbids": {func(f *Facts) {
			f.Namespaces, f.Root, f.Limits["kernel.apparmor_restrict_unprivileged_userns"] = Trial{Said: "no"}, false, "1"
		}, Finding{"namespaces", Fail, "nodes cannot have namespaces of their own: no", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"}},
		"no_overlay":       {func(f *Facts) { f.Overlay = Trial{Said: "mount: unknown filesystem type 'overlay'"} }, Finding{"overlay", Fail, "nodes cannot have a root of their own: mount: unknown filesystem type 'overlay'", "modprobe overlay"}},
		"silenced_overlay": {func(f *Facts) { f.Overlay, f.Namespaces = Trial{}, Trial{} }, Finding{"overlay", Skip, "needs namespaces", ""}},
		"no_fuse":          {func(f *Facts) { f.Fuse = Fuse{} }, Finding{"fuse", Warn, "there is no /dev/fuse, with which ordinary users' containers are made", "modprobe fuse"}},
		"closed_fuse":      {func(f *Facts) { f.Fuse.Everyones = false }, Finding{"fuse", Warn, "ordinary users may not open /dev/fuse, with which their containers are made", "chmod 0666 /dev/fuse"}},
		"not_my_fuse":      {func(f *Facts) { f.Fuse, f.Root = Fuse{Present: true}, false }, Finding{"fuse", Warn, "you may not open /dev/fuse, with which containers are made", "sudo chmod 0666 /dev/fuse"}},
		"no_headers":       {func(f *Facts) { f.Files["/usr/{include,local/include}/slurm/spank.h"] = false }, Finding{"package/libslurm-dev", Fail, "building Slurm's plugin for containers: missing spank.h", "apt-get install --no-install-recommends libslurm-dev"}},
		"little_memory":    {func(f *Facts) { f.FreeMemory = 1e9 }, Finding{"memory", Warn, "1.0 GB are free for programs; 2.1 GB are comfortable", ""}},
		"no_memory":        {func(f *Facts) { f.FreeMemory = 1e8 }, Finding{"memory", Fail, "0.1 GB are free for programs; a cluster needs 0.5 GB", ""}},
		"unknown_memory":   {func(f *Facts) { f.FreeMemory, f.Blind["memory"] = 0, "who knows" }, Finding{"memory", Blind, "who knows", ""}},
		"no_disk":          {func(f *Facts) { f.FreeDisk = 0 }, Finding{"disk", Fail, "0.0 GB are free in /var/lib/muster; a cluster needs 0.5 GB", ""}},
		"one_core":         {func(f *Facts) { f.Cores = 1 }, Finding{"cores", Warn, "one core: a cluster runs, slowly", ""}},
		"system_services":  {func(f *Facts) { f.Running = []string{"mariadbd", "munged"} }, Finding{"services", Pass, "this machine's own services stay as they are: mariadbd, munged", ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			c.change(&f)
			findings := judge(f, Options{Groups: []string{Local, Demo}})
			i := slices.IndexFunc(findings, func(f Finding) bool { return f.Name == c.want.Name })
			if i < 0 {
				t.Fatalf("no check %q", c.want.Name)
			}
			if diff := cmp.Diff(c.want, findings[i]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJudgeNamesAreUnique(t *testing.T) {
	seen := map[string]int{}
	for _, f := range judge(bare(), Options{Groups: []string{Local, Demo}}) {
		seen[f.Name]++
	}
	for name := range maps.Keys(seen) {
		if seen[name] > 1 {
			t.Errorf("%d checks are named %q", seen[name], name)
		}
	}
}

func TestJudgeChange(t *testing.T) {
	before := healthy()
	before.Running, before.Enabled = []string{"mariadbd"}, []string{"mariadb"}
	cases := map[string]struct {
		running, enabled []string
		want             Finding
	}{
		"kept":    {[]string{"mariadbd"}, []string{"mariadb"}, Finding{"installation", Pass, "no service was started or enabled", ""}},
		"started": {[]string{"mariadbd", "munged"}, nil, Finding{"installation", Warn, "services run now that did not before: munged", "sudo systemctl stop munge"}},
		"enabled": {nil, []string{"munge", "slurmd"}, Finding{"installation", Warn, "services start with the machine now: munge, slurmd", "sudo systemctl disable munge slurmd"}},
	}
	for name, c := range cases {
		after := healthy()
		after.Running, after.Enabled = c.running, c.enabled
		if diff := cmp.Diff(c.want, judgeChange(before, after)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWorst(t *testing.T) {
	cases := map[string]struct {
		statuses []Status
		want     Status
		ok       bool
	}{
		"none":     {nil, Pass, true},
		"skip":     {[]Status{Skip}, Pass, true},
		"blind":    {[]Status{Pass, Blind}, Blind, true},
		"warn":     {[]Status{Blind, Warn, Pass}, Warn, true},
		"failures": {[]Status{Warn, Fail, Blind}, Fail, false},
	}
	for name, c := range cases {
		var r Report
		for _, s := range c.statuses {
			r.Checks = append(r.Checks, Finding{Status: s})
		}
		if r.worst() != c.want || r.OK() != c.ok {
			t.Errorf("%s: got %v, %v", name, r.worst(), r.OK())
		}
	}
}

func TestWriteText(t *testing.T) {
	f := healthy()
	f.Programs["munged"], f.Namespaces, f.Root = "", Trial{Said: "sh: no"}, false
	f.Limits["kernel.unprivileged_userns_clone"] = "0"
	o := Options{Self: "muster doctor --install"}
	var b strings.Builder
	if err := newReport(f, newPlan(f, o), o).WriteText(&b, Brief); err != nil {
		t.Fatal(err)
	}
	want := `fail   package/munge                    authentication between nodes: missing munged
fail   namespaces                       nodes cannot have namespaces of their own: sh: no
                                        sudo sysctl -w kernel.unprivileged_userns_clone=1
to mend it:
    sudo muster doctor --install
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := newReport(f, newPlan(f, o), o).WriteText(&b, Full); err != nil || strings.Count(b.String(), "\n") < 20 {
		t.Errorf("got %v: %s", err, b.String())
	}
}
