package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestForeignCluster has another user meet a cluster of root's.
func TestForeignCluster(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("it must be root's")
		}
		t.Skip("needs root, who can be anybody")
	}
	dir := t.TempDir()
	muster := filepath.Join(dir, "muster")
	home := filepath.Join(dir, "home", "u")
	program, err := os.ReadFile("/proc/self/exe") // which is muster by that name: see TestMain
	err = errors.Join(err, os.MkdirAll(filepath.Join(home, "s3"), 0o755), os.WriteFile(muster, program, 0o755), os.Chmod(filepath.Join(home, "s3"), 0o700),
		os.WriteFile(filepath.Join(home, "cluster.json"), []byte(`{"name": "u", "file": "/w/u.yaml", "user": "root"}`), 0o644),
		os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	const mine = "muster: cluster u is root's: only root works with it\n"
	for _, row := range []struct {
		args, out, err string
		code           int
	}{
		{"exec -- true", "", mine, 1},
		{"shell", "", mine, 1},
		{"down", "", mine, 1},
		{"down --delete-data --yes --cluster u", "", mine, 1},
		{"nodes", "", mine, 1},
		{"node kill x", "", mine, 1},
		{"job list", "", mine, 1},
		{"run -- true", "", mine, 1},
		{"fleet stop", "", mine, 1},
		{"status", "u         stopped, made by root\n  file    /w/u.yaml\n  folder  " + home + "\n  blind   cluster u is root's: only root sees its nodes, jobs and storage\n", "", 3},
	} {
		t.Run(row.args, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), muster, strings.Fields(row.args)...)
			cmd.Env = []string{"MUSTER_HOME=" + filepath.Dir(home), "PATH=" + os.Getenv("PATH")}
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			var out, said strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &said
			_ = cmd.Run()
			if cmd.ProcessState.ExitCode() != row.code || out.String() != row.out || said.String() != row.err {
				t.Errorf("exit code %d\n%s\n%s", cmd.ProcessState.ExitCode(), out.String(), said.String())
			}
		})
	}
}
