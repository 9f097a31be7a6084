//go:build linux

package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/muster-hpc/muster/internal/container"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// containerFlags are the flags that say what a container is to be like. They have
// the names of srun's, without --container-.
type containerFlags struct {
	mounts, env, unshare                                  []string
	name, workdir, save, state, upperSize                 string
	writable, readonly, home, noHome                      bool
	root, noRoot, entrypoint, noEntrypoint, entrypointLog bool
	verbose                                               bool
}

func (f *containerFlags) add(s *pflag.FlagSet) {
	repeat(s, &f.mounts, "mounts", "show `SRC[:DST[:FLAGS]],...`: files and directories, tmpfs, or umount; flags are joined by +")
	s.StringVar(&f.workdir, "workdir", "", "the `DIR` in the container to work in (default: the image's)")
	s.StringVar(&f.name, "name", "", "keep what it writes under `NAME[:auto|create|exec|no_exec]`, or use that")
	s.BoolVar(&f.writable, "writable", false, "let it change its root")
	s.BoolVar(&f.readonly, "readonly", false, "do not (the default)")
	s.BoolVar(&f.home, "mount-home", false, "show your home directory")
	s.BoolVar(&f.noHome, "no-mount-home", false, "do not (the default)")
	s.BoolVar(&f.root, "remap-root", false, "be root in it; that gives no rights outside")
	s.BoolVar(&f.noRoot, "no-remap-root", false, "do not (the default)")
	s.BoolVar(&f.entrypoint, "entrypoint", false, "run the image's entrypoint first, for the environment it sets")
	s.BoolVar(&f.noEntrypoint, "no-entrypoint", false, "do not (the default)")
	s.BoolVar(&f.entrypointLog, "entrypoint-log", false, "show what the entrypoint prints")
	repeat(s, &f.env, "env", "variables `A,B` that keep the value they have here")
	repeat(s, &f.unshare, "unshare", "give it its own `net,ipc,uts`")
	s.StringVar(&f.save, "save", "", "write its root to this squashfs `FILE` in the end")
	s.StringVar(&f.upperSize, "upper-size", "", "the most it may write in memory, `SIZE`: 4g, 20% (default: 50%)")
	s.StringVar(&f.state, "state", "", "the `DIR` for containers with a name (default: on this machine's disk)")
	s.BoolVarP(&f.verbose, "verbose", "v", false, "say how it is made")
}

// options are the options that the flags stand for.
func (f *containerFlags) options() (container.Options, error) {
	o := container.Options{
		Workdir: f.workdir, Writable: f.writable, MountHome: f.home, RemapRoot: f.root, Entrypoint: f.entrypoint,
		EntrypointLog: f.entrypointLog, Save: f.save, UpperSize: f.upperSize, State: f.state, Verbose: f.verbose,
		User: self(), Environ: os.Environ(), Describe: describe,
	}
	var errs []error
	for _, list := range f.mounts {
		mounts, err := container.ParseMounts(list)
		errs = append(errs, err)
		for _, m := range mounts {
			o.Mounts = container.AddMount(o.Mounts, m)
		}
	}
	for _, list := range f.env {
		names, err := container.ParseKeep(list)
		errs = append(errs, err)
		o.Keep = append(o.Keep, names...)
	}
	for _, list := range f.unshare {
		u, err := container.ParseUnshare(list)
		errs = append(errs, err)
		o.Unshare = container.Unshare{Net: o.Unshare.Net || u.Net, IPC: o.Unshare.IPC || u.IPC, UTS: o.Unshare.UTS || u.UTS}
	}
	if f.name != "" {
		name, err := container.ParseName(f.name)
		errs = append(errs, err)
		o.Name = name
	}
	if f.save != "" {
		errs = append(errs, container.CheckSave(f.save))
	}
	for _, both := range []struct {
		a, b bool
		name string
	}{
		{f.writable, f.readonly, "--writable and --readonly"},
		{f.home, f.noHome, "--mount-home and --no-mount-home"},
		{f.root, f.noRoot, "--remap-root and --no-remap-root"},
		{f.entrypoint, f.noEntrypoint, "--entrypoint and --no-entrypoint"},
	} {
		if both.a && both.b {
			errs = append(errs, fmt.Errorf("both %s were specified", both.name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return o, fault.Usage(err)
	}
	return o, nil
}
