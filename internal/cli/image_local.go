//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/local"
)

// imageMakers are the commands that work with what clusters and builders on this
// machine have.
func (a *app) imageMakers(place *imagePlace) []*cobra.Command {
	return []*cobra.Command{a.imageBuild(place), a.imageForward(), a.imagePack(), a.imagePush(), a.imageEnsure(place)}
}

// ofLocal takes the directory of images of a cluster on this machine.
func (p *imagePlace) ofLocal(a *app) error {
	ref, err := a.ref()
	if err != nil {
		return fmt.Errorf("%w; or say with --dir where the images are", err)
	}
	if _, err := (local.Place{}).Open(ref.Home, ref.Name, talk{a}); err != nil { // another user's
		return fmt.Errorf("%w; or say with --dir where the images are", err)
	}
	l := ref.Layout()
	record, err := l.Record()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; or say with --dir where the images are", noCluster(ref.Home, ref.Name))
	}
	if err != nil {
		return err
	}
	if p.OnNodes, err = imagesFile(l.Path("etc", "muster", "images")); err != nil {
		return err
	}
	for _, m := range record.Shared {
		if rest, ok := strings.CutPrefix(p.OnNodes, m.Target+"/"); ok {
			p.Dir = filepath.Join(m.Source, rest)
			return nil
		}
	}
	return fmt.Errorf("the cluster's directory of images, %s, is on no file system that its machines share", p.OnNodes)
}

// ofRegistry makes a command one that runs on the head node if it is about an
// image in the cluster's own registry, which is reached from there only. It
// returns nil where the command has to run here.
func (a *app) ofRegistry(ctx context.Context, uri string, p *imagePlace) error {
	if inside() || !strings.Contains(uri, local.RegistryAddress()) {
		return nil
	}
	if p.Dir != "" && p.OnNodes == "" {
		return fmt.Errorf("%s is the cluster's own registry; what is imported from it goes to the cluster's directory, so leave out --dir", local.RegistryAddress())
	}
	return a.again(ctx)
}
