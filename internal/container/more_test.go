package container

import (
	"os"
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

func TestPMIxDirectory(t *testing.T) {
	fixture(t)
	dir := stateDir(t)
	o := Options{Image: shared.trusted, Environ: []string{"SLURM_STEP_ID=0", "PMIX_SERVER_TMPDIR=" + dir}}
	shell(t, ordinary, o, "echo x > "+dir+"/x")
}
