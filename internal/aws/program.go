package aws

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// build is muster for one architecture, on this machine.
type build struct {
	path    string
	size    int64
	sums    store.Sums
	program manifest.Program
}

// builds finds muster for Linux on each architecture: this program itself, or a file
// muster-linux-ARCH beside it or in a folder dist; or what the caller knows.
func builds(archs []string, known map[string]string) (map[string]build, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	all := map[string]build{}
	for _, arch := range archs {
		path := known[arch]
		if path == "" {
			if path, err = buildOf(self, arch); err != nil {
				return nil, err
			}
		}
		if all[arch], err = openBuild(path, arch); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func buildOf(self, arch string) (string, error) {
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		return self, nil
	}
	dir, name := filepath.Dir(self), "muster-linux-"+arch
	places := []string{filepath.Join(dir, name), filepath.Join(dir, "dist", name), filepath.Join(dir, "..", "dist", name)}
	for _, path := range places {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("the cluster needs muster for Linux on %s: `make dist` makes %s, which goes beside this program (looked for %s)", arch, name, strings.Join(places, ", "))
}

func openBuild(path, arch string) (build, error) {
	f, err := os.Open(path)
	if err != nil {
		return build{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return build{}, err
	}
	sums, err := store.Sum(f, info.Size())
	if err != nil {
		return build{}, fmt.Errorf("read %s: %w", path, err)
	}
	return build{path: path, size: info.Size(), sums: sums, program: manifest.Program{Key: manifest.ProgramKey(sums.SHA256, arch), SHA256: sums.SHA256}}, nil
}

// upload puts a build into the bucket unless it is there.
func (b build) upload(ctx context.Context, s store.Store) error {
	if there, err := s.Head(ctx, b.program.Key); err == nil && there.SHA256 == b.sums.SHA256 && there.SizeBytes == b.size {
		return nil
	}
	f, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = s.Put(ctx, store.Upload{Key: b.program.Key, Body: f, SizeBytes: b.size, Sums: b.sums})
	return err
}
