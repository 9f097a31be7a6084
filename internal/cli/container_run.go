//go:build linux

package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/container"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

func (a *app) containerRun() *cobra.Command {
	var flags containerFlags
	c := &cobra.Command{
		Use:   "run [IMAGE] [flags] [-- COMMAND [ARG...]]",
		Short: "Run a command in a container",
		Long: `Run makes a container around a squashfs image, runs a command in it and takes it
away. IMAGE is a file, or a reference such as docker://debian:12, which is imported
first. Without a command it runs what the image is made for.

The command has your user, your processes' view of the machine, its network and
shared memory; files are the image's, with /tmp of its own. The exit code is the
command's.

The image is mounted by squashfuse, or by the kernel if you are root and nobody else
can have written it.`,
		Example: `  muster container run torch.sqsh -- python3 -c 'import torch; print(torch.__version__)'
  muster container run docker://debian:12 --remap-root --writable -- sh -c 'apt-get update && apt-get install -y git'
  muster container run torch.sqsh --mounts /fsx1/data:/data:ro,./out:/out --workdir /out -- ./train.sh
  muster container run debian.sqsh --name dev --writable -- bash
  muster container run --name dev -- ls`,
	}
	flags.add(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		o, err := flags.options()
		if err != nil {
			return err
		}
		name, command, err := imageAndCommand(args, c.ArgsLenAtDash(), o.Name.Name != "")
		if err != nil {
			return err
		}
		if o.Image, err = a.imageFile(c.Context(), asPath(name), o); err != nil {
			return err
		}
		o.Absent, o.Seal = a.absent(o.Image), seal(c.Context())
		o.Notice = func(text string) { fmt.Fprint(a.err, page.PrintableLines("muster: "+text)) }
		if o.User.Groups, err = os.Getgroups(); err != nil {
			return err
		}
		code, err := container.Run(o, command)
		if err != nil {
			return hinted(err)
		}
		if code != 0 {
			return fault.Exit(code)
		}
		return nil
	}
	return c
}

// imageAndCommand tells the image from the command. A container with a name may be
// there already: then the image can be left out before --.
func imageAndCommand(args []string, dash int, named bool) (image string, command []string, err error) {
	switch {
	case dash == 0 && named:
		return "", args, nil
	case len(args) == 0 && named:
		return "", nil, nil
	case len(args) == 0 || dash == 0:
		return "", nil, fault.Usage(errors.New("which image? see `muster container run --help`"))
	case dash > 1:
		return "", nil, fault.Usage(fmt.Errorf("%q is in the place of the command, which comes after --", args[1]))
	}
	return args[0], args[1:], nil
}

// hinted is an error with what to do about it behind it.
func hinted(err error) error {
	if hint := container.Hint(err); hint != "" {
		return fmt.Errorf("%w\n        %s", err, hint)
	}
	return err
}
