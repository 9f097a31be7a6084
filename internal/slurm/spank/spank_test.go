package spank

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// needCompiler skips a test that this machine cannot run. In CI it fails.
func needCompiler(t *testing.T) {
	t.Helper()
	lacks := ""
	if _, err := exec.LookPath("cc"); err != nil {
		lacks = "cc"
	} else if _, err := os.Stat("/usr/include/slurm/spank.h"); err != nil {
		lacks = "slurm/spank.h"
	}
	if lacks != "" && os.Getenv("MUSTER_CI") != "" {
		t.Fatalf("this machine lacks %s", lacks)
	} else if lacks != "" {
		t.Skipf("this machine lacks %s", lacks)
	}
}

// TestInstall: it is compiled once, and again for another Slurm.
func TestInstall(t *testing.T) {
	needCompiler(t)
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	install := func(version string) os.FileInfo {
		t.Helper()
		if err := Install(t.Context(), path, filepath.Join(dir, "none"), version); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := install("22.05.8")
	if !os.SameFile(first, install("22.05.8")) {
		t.Error("it was compiled twice")
	}
	if os.SameFile(first, install("23.02.1")) {
		t.Error("it was not compiled for another Slurm")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range []string{"plugin_name", "slurm_spank_task_init", "slurm_spank_job_epilog"} {
		if !bytes.Contains(text, []byte(symbol)) {
			t.Errorf("it has no %s", symbol)
		}
	}
	if first.Mode().Perm() != 0o755 {
		t.Errorf("its mode is %s", first.Mode())
	}
}

// TestInstall_leaves_nothing_elsewhere: a death in the middle leaves what it has beside
// the plugin, and the next one takes it away.
func TestInstall_leaves_nothing_elsewhere(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, Name)
	t.Setenv("TMPDIR", temporary)
	t.Setenv("PATH", dir)
	// A compiler that says where it is and fails.
	if err := os.WriteFile(filepath.Join(dir, "cc"), []byte("#!/bin/sh\necho \"$PWD $TMPDIR\" >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(path+".build", "left")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	err := Install(t.Context(), path, filepath.Join(dir, "none"), "22.05.8")
	if want := path + ".build " + path + ".build"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if _, err := os.Lstat(path + ".build"); err == nil {
		t.Error("something is left beside the plugin")
	}
	if entries, err := os.ReadDir(temporary); err != nil || len(entries) != 0 {
		t.Errorf("something is left elsewhere: %v, %v", entries, err)
	}
}

func TestInstall_takes_the_packaged(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no compiler
	dir := t.TempDir()
	path, packaged := filepath.Join(dir, Name), filepath.Join(dir, Packaged("22.05.8"))
	if filepath.Base(packaged) != "spank_muster-22.05.so" {
		t.Errorf("it is called %s", packaged)
	}
	err := Install(t.Context(), path, packaged, "22.05.8")
	if err == nil || !strings.Contains(err.Error(), "`muster doctor` says what is missing") {
		t.Errorf("without a compiler: %v", err)
	}
	for _, want := range []string{"one", "another"} {
		if err := os.WriteFile(packaged, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Install(t.Context(), path, packaged, "22.05.8"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// TestPackage: what is packaged here is for the Slurm that is here.
func TestPackage(t *testing.T) {
	needCompiler(t)
	dir := t.TempDir()
	path, err := Package(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "spank_muster-[0-9][0-9].[01][0-9].so"))
	if err != nil || len(found) != 1 || found[0] != path {
		t.Errorf("got %q, there is %q, %v", path, found, err)
	}
}

func TestStack(t *testing.T) {
	want := "# Written by muster.\nrequired /opt/muster/bin/spank_muster.so muster=/opt/muster/bin/muster container_scope=job\n"
	if got := Own("/opt/muster/bin/spank_muster.so", "/opt/muster/bin/muster").Conf(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPyxisIn(t *testing.T) {
	dir := t.TempDir()
	dirs := []string{filepath.Join(dir, "none"), filepath.Join(dir, "*", "slurm-wlm")}
	if got := pyxisIn(dirs); got != "" {
		t.Errorf("got %q", got)
	}
	want := filepath.Join(dir, "x86_64-linux-gnu", "slurm-wlm", "spank_pyxis.so")
	if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := pyxisIn(dirs); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestConfigured: what an image has installed is not what somebody has set up.
func TestConfigured(t *testing.T) {
	const path = "/usr/local/lib/slurm/spank_pyxis.so"
	for name, row := range map[string]struct {
		files map[string]string
		want  string
	}{
		"installed":        {map[string]string{"examples/pyxis.conf": "required " + path}, ""},
		"no_plugstack":     {map[string]string{"enroot.conf": ""}, ""},
		"no_enroot":        {map[string]string{"plugstack.conf": "required " + path}, ""},
		"only_a_comment":   {map[string]string{"enroot.conf": "", "plugstack.conf": "# required " + path}, ""},
		"included":         {map[string]string{"enroot.conf": "", "plugstack.conf": "include plugstack.conf.d/*\n", "plugstack.conf.d/pyxis.conf": "# a line\nrequired " + path + " runtime_path=/run/pyxis\n"}, "required " + path + " runtime_path=/run/pyxis\n"},
		"written_by_ours":  {map[string]string{"enroot.conf": "", "plugstack.conf": Own("/opt/muster/bin/spank_muster.so", "/m").Conf()}, ""},
		"taken_up_already": {map[string]string{"enroot.conf": "", "plugstack.conf": Stack{Plugin: path}.Conf()}, "required " + path + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range row.files {
				at := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, ok := Configured(dir, filepath.Join(dir, "enroot.conf"))
			if ok != (row.want != "") || ok && !strings.HasSuffix(got.Conf(), "\n"+row.want) {
				t.Errorf("got %+v, %v, want %q", got, ok, row.want)
			}
		})
	}
}
