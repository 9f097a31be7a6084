package container

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func outputOf(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}

func TestPasswdFile(t *testing.T) {
	a := account{name: "ada", group: "users", gecos: "Ada L.", home: "/home/ada", shell: "/bin/zsh"}
	u := User{UID: 1000, GID: 100}
	image := "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/sh\nada:x:1:1::/:/bin/false\n_apt:x:42:65534::/nonexistent:/bin/false\n\nlast:x:9:9::/:/x"
	want := "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/sbin/nologin\nada:x:1000:100:Ada L.:/home/ada:/bin/sh\ndaemon:x:1:1::/:/bin/sh\nlast:x:9:9::/:/x\n"
	if diff := cmp.Diff(want, string(passwdFile([]byte(image), u, a, "/bin/sh"))); diff != "" {
		t.Error(diff)
	}
	want = "root:x:0:\nnogroup:x:65534:\nusers:x:100:\nadm:x:4:\n"
	if diff := cmp.Diff(want, string(groupFile([]byte("root:x:0:\nadm:x:4:\nusers:x:7:\n"), u, a))); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironment(t *testing.T) {
	outer := readEnviron([]string{"HOME=/home/ada", "PATH=/host", "LANG=de", "LC_ALL=de", "A=outer", "B=outer", "SHELL=/bin/zsh", "TERM=xterm", "ODD"})
	config := Config{Env: []string{"PATH=/image", "A=image", "B=image", "C=${HOME}/c${NOSUCH}", "D=$HOME ${", "1bad=x", "nothing"}}
	l := login{user: "ada", logname: "ada", home: "/home/ada", shell: "/bin/sh", path: "/default"}
	set, unset := changes(outer, inner(outer, config, true, l), []string{"B", "LC_ALL", "NOSUCH"})
	want := []string{"A=image", "C=/home/ada/c", "D=$HOME ${", "HOME=/home/ada", "LOGNAME=ada", "PATH=/image", "SHELL=/bin/sh", "TERM=xterm", "USER=ada"}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"LANG"}, unset); diff != "" {
		t.Error(diff)
	}
	if got := inner(outer, config, false, l)["C"]; got != "${HOME}/c${NOSUCH}" {
		t.Errorf("an image of ours has C=%s", got)
	}
	if got := inner(outer, Config{Env: []string{"LANG=C.UTF-8"}}, false, l); got["PATH"] != "/default" {
		t.Errorf("PATH=%s", got["PATH"])
	}
	if _, unset := changes(outer, environment{"LANG": "C"}, nil); !slices.Equal(unset, []string{"LC_ALL"}) {
		t.Errorf("unset %q", unset)
	}
}

func TestPyTorch(t *testing.T) {
	outer := environment{"SLURM_JOB_ID": "4711", "SLURM_STEP_NODELIST": "gpu-[03-05,9]-x,b", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_NUM_NODES": "2"}
	in := environment{"PYTORCH_VERSION": "2"}
	addPyTorch(in, outer)
	want := environment{"PYTORCH_VERSION": "2", "MASTER_ADDR": "gpu-03-x", "MASTER_PORT": "61175", "WORLD_SIZE": "8", "OMP_NUM_THREADS": "1"}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
	in = environment{"PYTORCH_VERSION": "2", "MASTER_ADDR": "image"}
	outer["WORLD_SIZE"] = "9"
	addPyTorch(in, outer)
	if _, ok := in["WORLD_SIZE"]; ok || in["MASTER_ADDR"] != "image" {
		t.Errorf("%v", in)
	}
	in = environment{}
	addPyTorch(in, outer)
	if len(in) != 0 {
		t.Errorf("an image without PyTorch: %v", in)
	}
	for list, want := range map[string]string{"": "", "a": "a", "a,b": "a", "a1,b[1-2]": "a1", "a[1]": "a1", "a[7,1-2]b[2-3],c": "a7b2"} {
		if got := firstHost(list); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func TestLoginPath(t *testing.T) {
	defs := []byte("# ENV_PATH PATH=/no\nENV_PATH\tPATH=/user\nENV_SUPATH PATH=/super\n")
	if got := loginPath(defs, false) + loginPath(defs, true); got != "/user/super" {
		t.Error(got)
	}
	if got := loginPath(nil, true); !strings.HasPrefix(got, "/usr/local/sbin:") {
		t.Error(got)
	}
}

// TestFilter goes through the filter as the kernel does.
func TestFilter(t *testing.T) {
	const allow, fake = 0x7fff0000, 0x00050000
	code := filter(7, []uint32{10, 11, 12}, []uint32{20, 21})
	for _, row := range []struct {
		arch, nr, first uint32
		want            uint32
	}{
		{7, 1, 0, allow}, {7, 10, 5, fake}, {7, 11, ^uint32(0), fake}, {7, 12, 0, fake}, {7, 13, 0, allow},
		{7, 20, 0, fake}, {7, 20, ^uint32(0), allow}, {7, 21, 1, fake}, {7, 21, ^uint32(0), allow}, {7, 22, 0, allow},
		{8, 10, 0, allow}, {8, 20, 0, allow},
	} {
		if got := judge(t, code, row.arch, row.nr, row.first); got != row.want {
			t.Errorf("%+v: %#x", row, got)
		}
	}
	if len(filterBytes(nativeFilter())) != 8*len(nativeFilter()) {
		t.Error("a filter of a wrong length")
	}
}

// judge runs a filter.
func judge(t *testing.T, code []unix.SockFilter, arch, nr, first uint32) uint32 {
	t.Helper()
	var acc uint32
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = map[uint32]uint32{0: nr, 4: arch, 16: first}[c.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			if acc == c.K {
				i += int(c.Jt)
			} else {
				i += int(c.Jf)
			}
		case unix.BPF_RET | unix.BPF_K:
			return c.K
		default:
			t.Fatalf("instruction %#x", c.Code)
		}
	}
	t.Fatal("no answer")
	return 0
}

func TestEnrootConfig(t *testing.T) {
	s := survey{
		environment: []byte("# a comment\nA=1\nB=two words\nexport C=3\n"),
		rc:          []byte("mkdir -p \"/work\" 2> /dev/null\ncd \"/work\" && unset OLDPWD || exit 1\ncd \"/other\" && unset OLDPWD\n"),
	}
	want := Config{Env: []string{"A=1", "B=two words"}, Workdir: "/work"}
	if diff := cmp.Diff(want, enrootConfig(s)); diff != "" {
		t.Error(diff)
	}
}

func TestParseLists(t *testing.T) {
	if u, err := ParseUnshare("net,uts"); err != nil || u != (Unshare{Net: true, UTS: true}) {
		t.Errorf("%+v, %v", u, err)
	}
	for text, want := range map[string]string{"": "argument required", "pid": "unknown namespace 'pid'", "net,": "empty namespace argument"} {
		if _, err := ParseUnshare(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if names, err := ParseKeep("A,B,A"); err != nil || !slices.Equal(names, []string{"A", "B"}) {
		t.Errorf("%q, %v", names, err)
	}
	for _, text := range []string{"", "A,,B", "A=1"} {
		if _, err := ParseKeep(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if CheckSave("/a/") == nil || CheckSave("") == nil || CheckSave("x") != nil {
		t.Error("--save")
	}
}
