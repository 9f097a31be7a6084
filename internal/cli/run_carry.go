package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/services"
)

// carry submits a batch script on the head node of a cluster that is elsewhere. The script
// is copied there if it is a file of this machine.
func (a *app) carry(ctx context.Context, w where, args []string) error {
	before := flagsBefore(os.Args[1:], args)
	if fromStdin(args[0]) {
		file, done, err := a.keepStdin()
		if err != nil {
			return err
		}
		defer done()
		args = append([]string{file}, args[1:]...)
	}
	info, err := os.Stat(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		a.note("there is no %s on this machine; it is looked for on the head node", args[0])
		return a.againOn(ctx, w)
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > scriptLimit {
		_, problems := readScript(args[0])
		return a.showProblems(problems)
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	secrets, err := a.secretsOutside(ctx, w, args[0], data)
	if err != nil {
		return err
	}
	if secrets != nil {
		before = append(before, "--"+secretsFlag)
	}
	there, err := w.Send(ctx, args[0], data)
	if err != nil {
		return err
	}
	line := slices.Concat([]string{services.Muster}, before, []string{"--" + calledFlag + "=" + args[0], there}, args[1:])
	return w.Enter(ctx, place.Program{Args: line, Quiet: true, Input: secrets})
}

// flagsBefore are the command and the flags that stand before FILE.
func flagsBefore(line, args []string) []string {
	before := line[:len(line)-len(args)]
	if n := len(before); n > 0 && before[n-1] == "--" {
		before = before[:n-1]
	}
	return before
}
