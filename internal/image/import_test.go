package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/image/source"
)

func TestImport(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	one, two := layer(t, 1, 500_000), layer(t, 2, 300_000)
	img := linux(t, one, two)
	uri := p.push(t, "v1", img)
	done, err := image.Import(t.Context(), options(uri, dir))
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := img.Digest()
	if done.Unchanged || done.Fetched != 2 || done.Name != "x" || done.Digest != digest.String() || done.Path != filepath.Join(dir, "x.sqsh") {
		t.Errorf("got %+v", done)
	}
	if n := p.requests("/blobs/"); n != 3 {
		t.Errorf("%d blobs were asked for, want 3", n)
	}
	sound(t, dir, "x")
	f, err := os.Open(done.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meta, found, err := image.ReadMeta(f)
	if err != nil || !found {
		t.Fatalf("got %v, %v", found, err)
	}
	want := image.Meta{
		Name: "x", Source: uri, Digest: digest.String(), Arch: "amd64", Muster: "v0",
		Env: []string{"A=b c"}, Cmd: []string{"it's", "$me"}, Entrypoint: []string{"/bin/run"}, Workdir: "/work",
		Labels: map[string]string{"who": "us"}, Volumes: []string{"/data set"},
		ConfigDigest: meta.ConfigDigest, Created: meta.Created, Imported: meta.Imported, Layers: meta.Layers, UncompressedBytes: meta.UncompressedBytes,
	}
	if diff := cmp.Diff(want, meta); diff != "" {
		t.Error(diff)
	}
	if len(meta.Layers) != 2 || meta.UncompressedBytes < 800_000 || time.Since(meta.Imported) > time.Minute {
		t.Errorf("got %+v", meta)
	}
}

func TestImportAgain(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	base := layer(t, 1, 500_000)
	uri := p.push(t, "v1", linux(t, base, layer(t, 2, 1000)))
	if _, err := image.Import(t.Context(), options(uri, dir)); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(dir + "/x.sqsh")
	p.requests("")
	done, err := image.Import(t.Context(), options(uri, dir))
	if err != nil || !done.Unchanged || done.Fetched != 0 {
		t.Fatalf("got %+v, %v", done, err)
	}
	if n := p.requests("/blobs/"); n != 1 {
		t.Errorf("%d blobs were asked for, want the configuration alone", n)
	}
	if after, _ := os.Stat(dir + "/x.sqsh"); !os.SameFile(before, after) {
		t.Error("the file was made again")
	}
	p.push(t, "v1", linux(t, base, layer(t, 3, 1000)))
	done, err = image.Import(t.Context(), options(uri, dir))
	if err != nil || done.Unchanged || done.Fetched != 1 {
		t.Errorf("got %+v, %v, want one layer fetched", done, err)
	}
	o := options(uri, dir)
	o.RootOwned = true
	done, err = image.Import(t.Context(), o)
	if err != nil || done.Unchanged || done.Fetched != 0 || done.Owners != "root" {
		t.Errorf("got %+v, %v, want the same with other owners", done, err)
	}
	sound(t, dir, "x")
}

// TestImportReadable has the programs that users have read an image.
func TestImportReadable(t *testing.T) {
	need(t, "unsquashfs")
	p, dir := newPlace(t), t.TempDir()
	done, err := image.Import(t.Context(), options(p.push(t, "v1", linux(t, layer(t, 1, 500_000))), dir))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "unsquashfs", "-d", dir+"/out", "-no-xattrs", done.Path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for file, want := range map[string]string{
		"etc/environment": "A=b c\n",
		"etc/fstab":       "${ENROOT_ROOTFS}/data\\040set /data\\040set none x-create=dir,bind,rw,nosuid,nodev\n",
		"etc/rc":          "exec '/bin/run' 'it'\\''s' '$me'\n",
	} {
		if data, err := os.ReadFile(filepath.Join(dir, "out", file)); err != nil || !strings.HasSuffix(string(data), want) {
			t.Errorf("%s: got %q, %v, want %q", file, data, err, want)
		}
	}
	if info, err := os.Stat(dir + "/out/dir/file-1"); err != nil || info.Size() != 500_000 {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestImportAtOnce(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	uri := p.push(t, "v1", linux(t, layer(t, 1, 3_000_000), layer(t, 2, 1_000_000)))
	var group sync.WaitGroup
	var unchanged atomic.Int32
	for range 4 {
		group.Go(func() {
			done, err := image.Import(t.Context(), options(uri, dir))
			if err != nil {
				t.Error(err)
			}
			if done.Unchanged {
				unchanged.Add(1)
			}
		})
		group.Go(func() {
			var out bytes.Buffer
			if err := command(t, task{URI: uri, Dir: dir}, &out).Run(); err != nil {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
	group.Wait()
	if unchanged.Load() < 3 {
		t.Errorf("%d of 4 found it done, want at least 3", unchanged.Load())
	}
	// Each of the 8 reads the configuration, one of them the two layers.
	if n := p.requests("/blobs/"); n != 8+2 {
		t.Errorf("%d blobs were asked for, want 10", n)
	}
	sound(t, dir, "x")
}

// TestImportKilled kills imports at many places. What was there stays, what was
// fetched is not fetched again, and nothing is left in the end.
func TestImportKilled(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	old, err := image.Import(t.Context(), options(p.push(t, "v1", linux(t, layer(t, 9, 1000))), dir))
	if err != nil {
		t.Fatal(err)
	}
	uri := p.push(t, "v1", linux(t, layer(t, 1, 2_000_000), layer(t, 2, 2_000_000), layer(t, 3, 20_000_000)))
	for round := range 6 {
		var out bytes.Buffer
		cmd := command(t, task{URI: uri, Dir: dir}, &out)
		// The child dies when it asks for its nth blob, or when it writes.
		var asked atomic.Int32
		started := make(chan struct{})
		p.on(func(r *http.Request) {
			if round < 4 && strings.Contains(r.URL.Path, "/blobs/") && int(asked.Add(1)) > round {
				<-started
				cmd.Process.Kill()
			}
		})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		close(started)
		if round >= 4 {
			killWhenWriting(t, cmd, dir)
		}
		cmd.Wait()
		have, err := image.Inspect(dir, "x")
		if err != nil || have.Meta == nil || have.Digest != old.Digest && round < 4 {
			t.Fatalf("round %d: got %+v, %v", round, have, err)
		}
	}
	p.on(nil)
	done, err := image.Import(t.Context(), options(uri, dir))
	if err != nil || done.Digest == old.Digest {
		t.Fatalf("got %+v, %v", done, err)
	}
	sound(t, dir, "x")
}

// killWhenWriting kills a child when it has begun to write an image. One that is
// too fast ends by itself.
func killWhenWriting(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	for t.Context().Err() == nil {
		if found, _ := filepath.Glob(dir + "/x.sqsh.tmp-*"); len(found) > 0 || cmd.Process.Signal(syscall.Signal(0)) != nil || zombie(cmd) {
			cmd.Process.Kill()
			return
		}
	}
}

// zombie tells whether a child has ended, though nobody has waited for it.
func zombie(cmd *exec.Cmd) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestImportResumes(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	small, large := layer(t, 1, 1000), layer(t, 2, 1_000_000)
	uri := p.push(t, "v1", linux(t, small, large))
	first, _ := small.Digest()
	second, _ := large.Digest()
	ctx, cancel := context.WithCancelCause(t.Context())
	p.on(func(r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, second.Hex) {
			return
		}
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, ".layers", "sha256-"+first.Hex+".segment")); err == nil {
				cancel(errors.New("stopped"))
			}
		}
	})
	if _, err := image.Import(ctx, options(uri, dir)); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Fatalf("got %v", err)
	}
	sound(t, dir)
	p.on(nil)
	done, err := image.Import(t.Context(), options(uri, dir))
	if err != nil || done.Fetched != 1 {
		t.Errorf("got %+v, %v, want one layer fetched", done, err)
	}
	sound(t, dir, "x")
}

func TestImportWrongLayer(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	img := linux(t, layer(t, 1, 100_000))
	layers, _ := img.Layers()
	h, _ := layers[0].Digest()
	uri := p.push(t, "v1", img)
	for want, spoil := range map[string]func([]byte) []byte{
		"damaged layer":    func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"given up at byte": func(b []byte) []byte { return b[:len(b)-1] },
		"wrong digest":     func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		p.spoil(h, spoil)
		_, err := image.Import(t.Context(), options(uri, dir))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), h.String()) {
			t.Errorf("got %v, want %q and the digest", err, want)
		}
		sound(t, dir)
	}
}

func TestImportNoSpace(t *testing.T) {
	if os.Getuid() != 0 {
		lack(t, "only root mounts a small file system")
	}
	p, dir := newPlace(t), t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		lack(t, "no tmpfs: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	small := p.push(t, "small", linux(t, layer(t, 9, 10_000)))
	if _, err := image.Import(t.Context(), options(small, dir)); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"known_before": 40_000_000, "found_out": 8_400_000} {
		_, err := image.Import(t.Context(), options(p.push(t, "large", linux(t, layer(t, 1, size))), dir))
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "`muster image prune --all` gives back") {
			t.Errorf("%s: got %v", name, err)
		}
		sound(t, dir, "x")
	}
}

func TestImportNoPermission(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	uri := p.push(t, "v1", linux(t, layer(t, 1, 1000)))
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := command(t, task{URI: uri, Dir: dir}, &out)
	if os.Getuid() == 0 {
		// The test binary lies where only root may look.
		binary := filepath.Join(visible(t), "test")
		data, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(binary, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Args[0] = binary, binary
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		for d := dir; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
			os.Chmod(d, 0o555)
		}
		cmd.Env = append(cmd.Env, "HOME=/nonexistent", "DOCKER_CONFIG=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "ENROOT_CONFIG_PATH=/nonexistent")
		cmd.Dir = "/"
	}
	if err := cmd.Run(); err == nil || !strings.Contains(out.String(), "permission denied; --dir names a directory in which you may write") {
		t.Errorf("got %v: %s", err, out.String())
	}
	os.Chmod(dir, 0o755)
}

// visible is a directory that every user can look into.
func visible(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster-image-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestImportRefuses(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	uri := p.push(t, "v1", linux(t, layer(t, 1, 1000)))
	for name, want := range map[string]string{"a/b": "no name for an image", "-x": "no name for an image", "..": "no name for an image"} {
		o := options(uri, dir)
		o.Name = name
		if _, err := image.Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	o := options("docker://"+p.host+"/a/b:none", dir)
	if _, err := image.Import(t.Context(), o); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	cache := t.TempDir()
	if err := os.Chmod(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	o = options(uri, dir)
	o.Cache = cache
	if _, err := image.Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "must be yours alone") {
		t.Errorf("got %v", err)
	}
	sound(t, dir)
}

func TestRemove(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	if _, err := image.Import(t.Context(), options(p.push(t, "v1", linux(t, layer(t, 1, 1000))), dir)); err != nil {
		t.Fatal(err)
	}
	if err := image.Remove(t.Context(), dir, "x"); err != nil {
		t.Fatal(err)
	}
	if err := image.Remove(t.Context(), dir, "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	sound(t, dir)
}

func TestPrune(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	if _, err := image.Import(t.Context(), options(p.push(t, "v1", linux(t, layer(t, 1, 100_000), layer(t, 2, 100_000))), dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/y.sqsh.tmp-1", []byte("left"), 0o644); err != nil {
		t.Fatal(err)
	}
	done, err := image.Prune(t.Context(), image.PruneOptions{Dir: dir})
	if err != nil || done.Layers != 0 || done.KeptBytes < 100_000 {
		t.Errorf("got %+v, %v", done, err)
	}
	done, err = image.Prune(t.Context(), image.PruneOptions{Dir: dir, Limit: 100_000})
	if err != nil || done.Layers != 1 || done.FreedBytes == 0 || done.KeptBytes > 100_000 {
		t.Errorf("got %+v, %v", done, err)
	}
	done, err = image.Prune(t.Context(), image.PruneOptions{Dir: dir, Limit: -1})
	if err != nil || done.Layers != 1 || done.KeptBytes != 0 {
		t.Errorf("got %+v, %v", done, err)
	}
	sound(t, dir, "x")
}
