package container

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCDI gives a container devices and files of this machine by specifications as
// NVIDIA's toolkit writes them.
func TestCDI(t *testing.T) {
	fixture(t)
	dir := stateDir(t)
	writeCDI(t, dir)
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
		_, err := exec.LookPath("nvidia-container-cli")
		if err != nil && strings.Count(got.err, "no GPU: ") != 1 {
			t.Errorf("%s: without: %+v", w.name, got)
		}
		if o.GPUs = dir; err == nil {
			continue
		}
		if got := run(t, w.user, o, "true"); !strings.Contains(got.err, "show GPUs: this machine has neither") {
			t.Errorf("%s: a machine whose GPUs no container sees: %+v", w.name, got)
		}
	}
	nothingLeft(t, "none")
}

// writeCDI writes a specification with what it names into a directory.
func writeCDI(t *testing.T, dir string) {
	t.Helper()
	script := "#!/bin/sh\nroot=$(cat | sed 's/.*\"bundle\":\"\\([^\"]*\\)\".*/\\1/')\ngrep -q '\"path\":' $root/config.json && echo \"$1 $2\" > $root/root/hooked && grep CapEff /proc/self/status >> $root/root/hooked\n"
	if err := os.WriteFile(dir+"/hook", []byte(script), 0o755); err != nil {
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
}
