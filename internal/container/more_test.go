package container

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEntrypoint(t *testing.T) {
	fixture(t)
	for _, w := range ways {
		o := Options{Image: w.image(), Entrypoint: true, EntrypointLog: true}
		got := run(t, w.user, o, "/bin/sh", "-c", "echo $FROM_ENTRYPOINT $FROM_IMAGE $PWD")
		if got.code != 0 || got.out != "yes yes /work dir\n" || got.err != "notice: banner\n" {
			t.Errorf("%s: %+v", w.name, got)
		}
		o.EntrypointLog = false
		if got := run(t, w.user, o, "true"); got.err != "" {
			t.Errorf("%s: it says %q", w.name, got.err)
		}
		o.Entrypoint = false
		if got := shell(t, w.user, o, "echo x$FROM_ENTRYPOINT"); got != "x\n" {
			t.Errorf("%s: %q", w.name, got)
		}
	}
	h := startHold(t, super, Options{Image: shared.trusted, User: ordinary, Entrypoint: true, EntrypointLog: true})
	if !slices.Contains(h.fields, "FROM_ENTRYPOINT=yes") || !slices.Contains(h.fields, "!banner") {
		t.Errorf("%q", h.fields)
	}
	h.end()
	h.nothingLeft()
}

func TestEntrypointOfConfig(t *testing.T) {
	fixture(t)
	call := helperCall{Options: Options{Image: shared.trusted, Entrypoint: true}, Args: []string{"/bin/sh", "-c", "echo $BY $FROM_IMAGE $PWD $A; test ! -w / && touch /vol/x"},
		Config: &Config{Env: []string{"A=a", "PATH=/bin"}, Entrypoint: []string{"env", "BY=config"}, Workdir: "/made/here", Volumes: []string{"/vol"}}}
	if got := finish(t, command(t, ordinary, call)); got.out != "config /made/here a\n" || got.code != 0 {
		t.Errorf("%+v", got)
	}
	call.Args, call.Config.Cmd = nil, []string{"sh", "-c", "echo default"}
	call.Options.Entrypoint = false
	if got := finish(t, command(t, ordinary, call)); got.out != "default\n" {
		t.Errorf("%+v", got)
	}
	call.Options.Entrypoint, call.Config.Entrypoint = true, []string{"sh", "-c", "echo broken; exit 3"}
	got := finish(t, command(t, ordinary, call))
	if got.code != 98 || !strings.Contains(got.err, "notice: broken") || !strings.Contains(got.err, "ended with code 3 before the command came") {
		t.Errorf("%+v", got)
	}
	nothingLeft(t, "none")
}

func TestKeepVariables(t *testing.T) {
	fixture(t)
	o := Options{Image: shared.trusted, Keep: []string{"GREETING", "LANG"}}
	if got := shell(t, ordinary, o, "echo $GREETING $LANG $FROM_IMAGE"); got != "host de_DE.UTF-8 yes\n" {
		t.Error(got)
	}
	o.Keep = nil
	if got := shell(t, ordinary, o, "echo $GREETING x$LANG"); got != "image x\n" {
		t.Error(got)
	}
}

func TestWorkdir(t *testing.T) {
	fixture(t)
	if got := shell(t, ordinary, Options{Image: shared.trusted, Workdir: "/opt/up/etc"}, "pwd -P"); got != "/etc\n" {
		t.Error(got)
	}
	got := run(t, ordinary, Options{Image: shared.trusted, Workdir: "/nosuch"}, "true")
	if got.code != 98 || !strings.Contains(got.err, "couldn't chdir to /nosuch: no such file or directory") {
		t.Errorf("%+v", got)
	}
}

func TestSave(t *testing.T) {
	fixture(t)
	dir := stateDir(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			to := dir + "/" + w.name + ".sqsh"
			o := Options{Image: w.image(), Writable: true, Save: to, Mounts: []Mount{{Source: "tmpfs", Target: "/mounted"}}}
			script := "echo new > /new; chmod 0 /new; rm /opt/file; echo x > /mounted/x; mkdir /shut; echo y > /shut/y; chmod 0 /shut; exit 3"
			if got := run(t, w.user, o, "/bin/sh", "-c", script); got.code != 3 {
				t.Fatalf("%+v", got)
			}
			list, err := outputOf("unsquashfs", "-ll", to)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"root/root", "squashfs-root/new\n", "squashfs-root/mounted\n", "squashfs-root/shut/y\n", "squashfs-root/etc/environment\n"} {
				if !strings.Contains(list, want) {
					t.Errorf("no %q in the saved image", want)
				}
			}
			if strings.Contains(list, "opt/file") || strings.Contains(list, "mounted/x") {
				t.Errorf("too much in the saved image")
			}
			if got := shell(t, w.user, Options{Image: to}, "echo $FROM_IMAGE; pwd; test ! -e /opt/file && test -d /mounted"); got != "yes\n/work dir\n" {
				t.Errorf("the saved image: %q", got)
			}
			nothingLeft(t, "none")
		})
	}
	if parts, _ := filepath.Glob(dir + "/.*"); len(parts) > 0 {
		t.Errorf("left %q", parts)
	}
	got := run(t, ordinary, Options{Image: shared.trusted, Save: "/nosuch/x.sqsh"}, "true")
	if got.code != 98 || !strings.Contains(got.err, "save the container") {
		t.Errorf("%+v", got)
	}
}

func TestHoldSaves(t *testing.T) {
	fixture(t)
	for _, who := range holders {
		dir := stateDir(t)
		h := startHold(t, who.starter, Options{Image: shared.plain, User: who.user, Writable: true, Save: "saved.sqsh", Dir: dir})
		if out, err := h.task("echo new > /new").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := h.step.Write([]byte("s")); err != nil {
			t.Fatal(err)
		}
		if got := h.read(); len(got) < 2 || got[0] != "saved" || got[1] != dir+"/saved.sqsh" {
			t.Errorf("answer %q", got)
		}
		info, err := os.Stat(dir + "/saved.sqsh")
		if err != nil || info.Size() == 0 {
			t.Error(err)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
		h.nothingLeft()
		quiet := startHold(t, who.starter, Options{Image: shared.plain, User: who.user, Save: "not.sqsh", Dir: dir})
		quiet.end()
		if _, err := os.Stat(dir + "/not.sqsh"); err == nil {
			t.Error("it saves without being asked")
		}
		quiet.nothingLeft()
	}
}

func TestGPURequest(t *testing.T) {
	for _, row := range []struct {
		outer, image environment
		want         []string
	}{
		{nil, nil, nil},
		{nil, environment{"NVIDIA_VISIBLE_DEVICES": "all"}, []string{"all"}},
		{environment{"NVIDIA_VISIBLE_DEVICES": "void"}, environment{"NVIDIA_VISIBLE_DEVICES": "all"}, nil},
		{environment{"NVIDIA_VISIBLE_DEVICES": "0,1"}, environment{"NVIDIA_VISIBLE_DEVICES": "all"}, []string{"0", "1"}},
		{environment{"SLURM_STEP_GPUS": "3"}, nil, []string{"all"}},
		{environment{"SLURM_JOB_GPUS": "3", "NVIDIA_VISIBLE_DEVICES": "none"}, nil, nil},
	} {
		if got := gpuRequest(row.outer, row.image); !slices.Equal(got, row.want) {
			t.Errorf("%v %v: %q, want %q", row.outer, row.image, got, row.want)
		}
	}
}

func TestNvidiaArgs(t *testing.T) {
	got, err := nvidiaArgs("cli", []string{"0", "1"}, environment{"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}, environment{"NVIDIA_REQUIRE_CUDA": "cuda>=12"})
	got = slices.DeleteFunc(got, func(a string) bool { return strings.HasPrefix(a, "--ldconfig") })
	want := []string{"cli", "--user", "configure", "--no-cgroups", "--device=0,1", "--compute", "--utility", "--require=cuda>=12"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := nvidiaArgs("cli", nil, environment{"NVIDIA_DRIVER_CAPABILITIES": "magic"}, nil); err == nil {
		t.Error("an unknown capability is accepted")
	}
}

// TestCDI gives a container devices and files of this machine by specifications as
// NVIDIA's toolkit writes them.
func TestCDI(t *testing.T) {
	fixture(t)
	dir := stateDir(t)
	hook := dir + "/hook"
	script := "#!/bin/sh\nroot=$(cat | sed 's/.*\"bundle\":\"\\([^\"]*\\)\".*/\\1/')\ngrep -q '\"path\":' $root/config.json && echo \"$1 $2\" > $root/root/hooked && grep CapEff /proc/self/status >> $root/root/hooked\n"
	if err := os.WriteFile(hook, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/lib.so", []byte("driver\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := fmt.Sprintf(`cdiVersion: 0.6.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/null
    - path: /opt/zero
      hostPath: /dev/zero
- name: "1"
  containerEdits:
    env: [SECOND=yes]
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  mounts:
  - hostPath: %[1]s/lib.so
    containerPath: /usr/lib/driver/lib.so
    options: [ro, nosuid, nodev, bind]
  hooks:
  - hookName: createContainer
    path: %[1]s/hook
    args: [hook, update-ldcache, --folder]
  - hookName: poststart
    path: /nosuch
`, dir)
	if err := os.WriteFile(dir+"/nvidia.yaml", []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, w := range ways {
		o := Options{Image: w.image(), CDI: []string{dir}, Environ: []string{"NVIDIA_VISIBLE_DEVICES=0"}, Verbose: true}
		got := run(t, w.user, o, "/bin/sh", "-c", `cat /usr/lib/driver/lib.so; head -c 2 /opt/zero | wc -c; cat /hooked; echo $NVIDIA_VISIBLE_DEVICES $SECOND; touch /usr/lib/driver/lib.so 2>/dev/null || echo ro`)
		if want := "driver\n2\nupdate-ldcache --folder\nCapEff:\t000001ffffffffff\nvoid\nro\n"; got.out != want {
			t.Errorf("%s: %q, want %q; %s", w.name, got.out, want, got.err)
		}
		o.Environ = []string{"NVIDIA_VISIBLE_DEVICES=all"}
		if got := shell(t, w.user, o, "echo $SECOND; head -c 1 /opt/zero | wc -c"); got != "yes\n1\n" {
			t.Errorf("%s: all: %q", w.name, got)
		}
		o.Environ = []string{"NVIDIA_VISIBLE_DEVICES=7"}
		if got := run(t, w.user, o, "true"); !strings.Contains(got.err, "no device nvidia.com/gpu=7") {
			t.Errorf("%s: %+v", w.name, got)
		}
		o.Environ, o.CDI = []string{"SLURM_JOB_GPUS=0"}, []string{dir + "/none"}
		got = run(t, w.user, o, "true")
		if _, err := exec.LookPath("nvidia-container-cli"); err != nil && strings.Count(got.err, "no GPU: ") != 1 {
			t.Errorf("%s: without: %+v", w.name, got)
		}
	}
	nothingLeft(t, "none")
}

func TestPMIxDirectory(t *testing.T) {
	fixture(t)
	dir := stateDir(t)
	o := Options{Image: shared.trusted, Environ: []string{"SLURM_STEP_ID=0", "PMIX_SERVER_TMPDIR=" + dir}}
	shell(t, ordinary, o, "echo x > "+dir+"/x")
}
