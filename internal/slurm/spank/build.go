package spank

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// flags are the compiler's: warnings are errors, and the usual hardening, which
// needs an optimizer; more of that costs `muster up` time, and the plugin only waits.
var flags = []string{
	"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared",
	"-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now,-z,noexecstack",
}

// Install puts the plugin for a version of Slurm at path, whole or not at all: a
// copy of packaged if that exists, otherwise it is compiled, unless that was done
// before. The compiler is cc, with Slurm's headers.
func Install(ctx context.Context, path, packaged, version string) error {
	stamp, err := stampOf(packaged, version)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(path + ".stamp"); err == nil && string(have) == stamp {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	text, err := os.ReadFile(packaged)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = build(ctx, path+".build")
	}
	if err != nil {
		return err
	}
	if err := whole.Write(path, text, 0o755); err != nil {
		return err
	}
	return whole.Write(path+".stamp", []byte(stamp), 0o644)
}

// stampOf tells apart plugins of other sources or for another Slurm.
func stampOf(packaged, version string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, version, flags)
	if text, err := os.ReadFile(packaged); err == nil {
		sum.Write(text)
	}
	err := eachSource(func(_ string, text []byte) error {
		_, err := sum.Write(text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)) + "\n", err
}

// eachSource calls f with the name and the text of each of the plugin's files.
func eachSource(f func(name string, text []byte) error) error {
	files, err := source.ReadDir("plugin")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := source.ReadFile("plugin/" + file.Name())
		if err == nil {
			err = f(file.Name(), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// build compiles the plugin for the Slurm whose headers are installed, in a directory
// that it makes anew and removes: what a death leaves there goes the next time. The
// compiler's own files are there, too.
func build(ctx context.Context, dir string) ([]byte, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// All as one: most of the time goes into Slurm's headers, which are read once.
	args := append(slices.Clone(flags), "-o", Name, "-I.", "-x", "c", "-")
	var all strings.Builder
	if err := eachSource(func(name string, text []byte) error {
		if filepath.Ext(name) == ".c" {
			fmt.Fprintf(&all, "#include %q\n", name)
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o644)
	}); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "cc", args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(all.String()), &said, &said
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if err := cmd.Run(); err != nil {
		return nil, hint(err, said.String())
	}
	return os.ReadFile(filepath.Join(dir, Name))
}
