package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

const plainPath = "/opt/muster/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func TestCarry(t *testing.T) {
	sight := map[string]Sight{"/work/venv": Seen, "/work/venv/bin": Seen, "/work/lib": Seen, "/usr/bin": Seen, "/bin": Seen, "/gone": Absent}
	cases := map[string]struct {
		environ []string
		// carried are the variables that are not always the same.
		carried, late []string
		leftOut       []LeftOut
	}{
		"nothing":                {nil, []string{"PATH=" + plainPath}, nil, nil},
		"a_venv_that_nodes_see":  {[]string{"PATH=/work/venv/bin:/usr/bin:/bin", "VIRTUAL_ENV=/work/venv"}, []string{"PATH=/opt/muster/bin:/work/venv/bin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin", "VIRTUAL_ENV=/work/venv"}, nil, nil},
		"a_venv_elsewhere":       {[]string{"PATH=/tmp/v/bin:/usr/bin", "VIRTUAL_ENV=/tmp/v"}, []string{"PATH=/opt/muster/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"}, nil, []LeftOut{{"PATH", "/tmp/v/bin"}, {"VIRTUAL_ENV", "/tmp/v"}}},
		"what_is_nowhere":        {[]string{"PATH=/gone:/gone:", "VIRTUAL_ENV=/gone"}, []string{"PATH=" + plainPath}, nil, nil},
		"a_path_twice":           {[]string{"PATH=/tmp/v:/work/lib:/work/lib:/tmp/v"}, []string{"PATH=/opt/muster/bin:/work/lib:" + strings.TrimPrefix(plainPath, "/opt/muster/bin:")}, nil, []LeftOut{{"PATH", "/tmp/v"}}},
		"libraries_come_late":    {[]string{"LD_LIBRARY_PATH=/work/lib:/tmp/lib", "PYTHONPATH=:/work/lib", "PYTHONHOME=/work/venv"}, []string{"PATH=" + plainPath}, []string{"PYTHONPATH=/work/lib", "LD_LIBRARY_PATH=/work/lib", "PYTHONHOME=/work/venv"}, []LeftOut{{"LD_LIBRARY_PATH", "/tmp/lib"}}},
		"python_of_any_kind":     {[]string{"PYTHONUNBUFFERED=1"}, []string{"PATH=" + plainPath}, []string{"PYTHONUNBUFFERED=1"}, nil},
		"conda":                  {[]string{"CONDA_PREFIX=/work/venv", "CONDA_DEFAULT_ENV=venv"}, []string{"CONDA_DEFAULT_ENV=venv", "PATH=" + plainPath, "CONDA_PREFIX=/work/venv"}, nil, nil},
		"modules":                {[]string{"MODULEPATH=/work/lib:/tmp/m", "LOADEDMODULES=gcc/12", "_LMFILES_=/work/lib"}, []string{"PATH=" + plainPath, "MODULEPATH=/work/lib", "_LMFILES_=/work/lib", "LOADEDMODULES=gcc/12"}, nil, []LeftOut{{"MODULEPATH", "/tmp/m"}}},
		"modules_partly":         {[]string{"LOADEDMODULES=gcc/12:mpi/4", "_LMFILES_=/work/lib:/tmp/m"}, []string{"PATH=" + plainPath}, nil, []LeftOut{{"_LMFILES_", "/tmp/m"}}},
		"of_this_machine":        {[]string{"LD_PRELOAD=/work/lib", "AWS_PROFILE=prod", "SLURM_CONF=/x", "HF_TOKEN=t", "FOO=a=b"}, []string{"HF_TOKEN=t", "FOO=a=b", "PATH=" + plainPath}, nil, nil},
		"a_name_that_comes_last": {[]string{"PATH=/tmp/v", "PATH=/work/venv/bin"}, []string{"PATH=/opt/muster/bin:/work/venv/bin:" + strings.TrimPrefix(plainPath, "/opt/muster/bin:")}, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := carry(c.environ, sight)
			if diff := cmp.Diff(Carried{append(c.carried, ownVariables()...), c.late, c.leftOut}, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// TestCarry_laws: whatever the environment, nodes get no path that they do not see,
// all that they do in its order, muster's own programs first; and what others load is
// never where it reaches programs before the change of user.
func TestCarry_laws(t *testing.T) {
	holds := func(known map[uint8]uint8, list []uint8, which uint8) bool {
		sight := map[string]Sight{}
		for path, s := range known {
			sight[pathOf(path)] = Sight(s % 3)
		}
		var paths, seen []string
		for _, p := range list {
			paths = append(paths, pathOf(p))
			if sight[pathOf(p)] == Seen {
				seen = append(seen, pathOf(p))
			}
		}
		name := pathLists[int(which)%len(pathLists)]
		c := carry([]string{name + "=" + strings.Join(paths, ":")}, sight)
		got := strings.Split(valueOf(slices.Concat(c.Env, c.Late), name), ":")
		if name == "PATH" {
			seen = searched(seen)
		}
		for _, out := range c.LeftOut {
			if sight[out.Path] != Hidden || slices.Contains(got, out.Path) {
				return false
			}
		}
		return strings.Join(got, ":") == strings.Join(seen, ":") && !slices.ContainsFunc(c.Env, loads)
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
}

func pathOf(n uint8) string { return "/p" + string('a'+rune(n%16)) }

func valueOf(environ []string, name string) string {
	for _, v := range environ {
		if n, value, _ := strings.Cut(v, "="); n == name {
			return value
		}
	}
	return ""
}

func loads(v string) bool { return strings.HasPrefix(v, "LD_") || strings.HasPrefix(v, "PYTHON") }

func TestCarriedBehind(t *testing.T) {
	if got := (Carried{}).behind(); got != "" {
		t.Errorf("of nothing it says %q", got)
	}
	c := Carried{LeftOut: []LeftOut{{"PATH", "/tmp/v/bin"}, {"PATH", "/home/ada/.local/bin"}, {"VIRTUAL_ENV", "/tmp/v"}}}
	const want = "not carried over: PATH /tmp/v/bin, /home/ada/.local/bin; VIRTUAL_ENV /tmp/v " +
		"(nodes see the working directory, the cluster's file systems and this machine's system, not its /home and /tmp)"
	if got := c.behind(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLookAt(t *testing.T) {
	work, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	v := nodes.View{Record: nodes.Record{Shared: []nodes.Mount{{Source: work, Target: work}}}}
	got := lookAt([]string{"FOO=/x", "VIRTUAL_ENV=" + elsewhere, "PATH=" + work + ":" + work + "/none:" + work + "/link:/usr/bin:/tmp/muster-none:bin:"}, v)
	want := map[string]Sight{elsewhere: Hidden, work: Seen, work + "/none": Seen, work + "/link": Hidden, "/usr/bin": Seen, "/tmp/muster-none": Absent, "bin": Absent, "": Absent}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
