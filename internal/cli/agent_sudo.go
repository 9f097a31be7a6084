//go:build linux

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/sudo"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// agentSudo is sudo on machines of local clusters that have no other.
func (a *app) agentSudo() *cobra.Command {
	return &cobra.Command{
		Use:                "sudo [OPTION...] PROGRAM [ARG...]",
		Short:              "Runs a program with the rights that the caller has",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.sudo(args); err != nil {
				return fmt.Errorf("sudo: %w", err)
			}
			return nil
		},
	}
}

func (a *app) sudo(args []string) error {
	o, err := sudo.Parse(args)
	if err != nil {
		return fault.Usage(err)
	}
	if o.Nothing && len(o.Words) == 0 {
		return nil
	}
	caller, err := userOf("#" + strconv.Itoa(os.Getuid()))
	if err != nil {
		return err
	}
	wanted, err := userOf(cmp.Or(o.User, "root"))
	if err != nil {
		return err
	}
	group := -1
	if o.Group != "" {
		if group, err = groupOf(o.Group); err != nil {
			return err
		}
	}
	r, err := sudo.Plan(o, caller, wanted, group, os.Environ(), local.SystemPath())
	if err != nil {
		return err
	}
	a.sayOnce(r.Note)
	return become(r)
}

// become turns into the program.
func become(r sudo.Run) error {
	if r.Dir != "" {
		if err := os.Chdir(r.Dir); err != nil {
			return err
		}
	}
	for _, v := range r.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			if err := os.Setenv("PATH", path); err != nil {
				return err
			}
		}
	}
	program, err := exec.LookPath(r.Line[0])
	if err != nil {
		return fmt.Errorf("%s: %w", r.Line[0], errors.Unwrap(err))
	}
	return unix.Exec(program, r.Line, r.Env)
}

// sayOnce tells a job, or a user's session, something once.
func (a *app) sayOnce(note string) {
	if note == "" {
		return
	}
	session, _ := unix.Getsid(0)
	mark := filepath.Join("/tmp", fmt.Sprintf(".muster-sudo-%d-%s-%d", os.Getuid(), filepath.Base(os.Getenv("SLURM_JOB_ID")), session))
	if os.Getenv("SLURM_JOB_ID") != "" {
		mark = strings.TrimSuffix(mark, "-"+strconv.Itoa(session))
	}
	f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, os.ErrExist) {
		return
	}
	if err == nil {
		f.Close()
	}
	fmt.Fprintf(a.err, "sudo: %s\n", note)
}

// userOf is a user by his name, or by # and his number.
func userOf(name string) (sudo.User, error) {
	look := user.Lookup
	if number, ok := strings.CutPrefix(name, "#"); ok {
		name, look = number, user.LookupId
	}
	u, err := look(name)
	if err != nil {
		return sudo.User{}, fmt.Errorf("there is no user %s", name)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return sudo.User{Name: u.Username, UID: uid, GID: gid, Home: u.HomeDir, Shell: "/bin/bash"}, errors.Join(err1, err2)
}

func groupOf(name string) (int, error) {
	look := user.LookupGroup
	if number, ok := strings.CutPrefix(name, "#"); ok {
		name, look = number, user.LookupGroupId
	}
	g, err := look(name)
	if err != nil {
		return 0, fmt.Errorf("there is no group %s", name)
	}
	return strconv.Atoi(g.Gid)
}
