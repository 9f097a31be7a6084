package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// modules are the directories of the repository's modules that have tests.
var modules = []string{".", "stand"}

// tested is a package with tests.
type tested struct {
	dir    string // of the repository, such as internal/lint
	path   string // its import path
	module string // the directory of its module
	binary string // its compiled tests
}

// list finds the packages with tests: all, or those in the directories that are named. For a soak only those that have tests for one.
func list(ctx context.Context, o options) ([]tested, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var all []tested
	for _, m := range modules {
		cmd := exec.CommandContext(ctx, "go", "list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles", "./...")
		cmd.Dir, cmd.Stderr = m, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", m, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Dir, ImportPath           string
				TestGoFiles, XTestGoFiles []string
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("list the packages of %s: %w", m, err)
			}
			dir, err := filepath.Rel(root, p.Dir)
			if err != nil {
				return nil, err
			}
			files := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
			soaks, err := hasSoak(dir, files)
			if err != nil {
				return nil, err
			}
			if len(files) > 0 && (soaks || !o.soak) {
				all = append(all, tested{dir: dir, path: p.ImportPath, module: m})
			}
		}
	}
	return choose(all, o.packages)
}

// hasSoak reports whether one of a package's files declares a test for a soak.
func hasSoak(dir string, files []string) (bool, error) {
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return false, err
		}
		if bytes.Contains(text, []byte("\nfunc TestSoak_")) {
			return true, nil
		}
	}
	return false, nil
}

// choose leaves the packages in the directories that are named, all if none is.
func choose(all []tested, named []string) ([]tested, error) {
	if len(named) == 0 {
		return all, nil
	}
	var chosen []tested
	for _, name := range named {
		at := slices.IndexFunc(all, func(p tested) bool { return p.dir == filepath.Clean(name) })
		if at < 0 {
			return nil, fmt.Errorf("%s is no directory of a package with such tests", name)
		}
		if !slices.Contains(chosen, all[at]) {
			chosen = append(chosen, all[at])
		}
	}
	return chosen, nil
}

// programs are what tests start, by name: the directory to build in, and the package.
var programs = map[string][2]string{
	"muster":       {".", "./cmd/muster"},
	"muster-stand": {"stand", "."},
	"muster-cloud": {".", "./test/cloud/muster-cloud"},
}

// prepare compiles everything into dir. The command that installs what tests need runs beside it, since much of its time nothing computes; if
// one of both fails, the other is ended.
func prepare(ctx context.Context, dir string, packages []tested, install string) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return compile(ctx, dir, packages) })
	if install != "" {
		both.Go(func() error {
			cmd := exec.CommandContext(ctx, "sh", "-c", install)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("install what tests need by %s: %w", install, err)
			}
			return nil
		})
	}
	return both.Wait()
}

// compile builds the programs, test2json, and the tests of all packages into dir.
func compile(ctx context.Context, dir string, packages []tested) error {
	for name, of := range programs {
		if err := build(ctx, of[0], slices.Concat([]string{"build"}, flags, []string{"-o", filepath.Join(dir, "programs", name), of[1]})...); err != nil {
			return err
		}
	}
	if err := build(ctx, ".", slices.Concat([]string{"build"}, flags, []string{"-o", filepath.Join(dir, "test2json"), "cmd/test2json"})...); err != nil {
		return err
	}
	for _, g := range groups(packages) {
		into := filepath.Join(dir, g[0].key())
		args := slices.Concat([]string{"test", "-c", "-vet=off"}, flags, []string{"-o", into + string(filepath.Separator)})
		for _, i := range g {
			args = append(args, i.path)
			i.binary = filepath.Join(into, filepath.Base(i.dir)+".test")
		}
		if err := build(ctx, g[0].module, args...); err != nil {
			return err
		}
	}
	return nil
}

// groups divides the packages into those that one `go test -c` can compile: of one module, and no two of one name.
func groups(packages []tested) [][]*tested {
	var all [][]*tested
	for i := range packages {
		p := &packages[i]
		fits := slices.IndexFunc(all, func(g []*tested) bool {
			return g[0].module == p.module && !slices.ContainsFunc(g, func(q *tested) bool { return filepath.Base(q.dir) == filepath.Base(p.dir) })
		})
		if fits < 0 {
			all = append(all, nil)
			fits = len(all) - 1
		}
		all[fits] = append(all[fits], p)
	}
	return all
}

// key is a file name for the package.
func (p tested) key() string { return strings.ReplaceAll(p.dir, string(filepath.Separator), "+") }

// flags and settings are those of the Makefile's BUILD: what it has compiled is compiled.
var (
	flags    = []string{"-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", "-s -w"}
	settings = []string{"CGO_ENABLED=0", "GOGC=400", "GOMEMLIMIT=2GiB"}
)

// build runs the go command.
func build(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), settings...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args[:min(len(args), 8)], " "), err)
	}
	return nil
}
