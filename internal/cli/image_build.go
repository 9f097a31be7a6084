//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/image/source"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

func (a *app) imageBuild(place *imagePlace) *cobra.Command {
	var f importFlags
	var o image.BuildOptions
	c := &cobra.Command{
		Use:   "build -t NAME CONTEXT",
		Short: buildShort,
		Long: `Build lets buildah, podman or docker build the Dockerfile of a directory, pushes
the image to the cluster's own registry, if there is a cluster that runs, and makes
its squashfs file.`,
		Example: "  muster image build -t train .\n  muster image build -t train:v2 -f train.Dockerfile --build-arg CUDA=12.8 .",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if inside() {
				return errors.New("images are built outside the cluster, where the builder is; leave the cluster's shell first")
			}
			if o.Name == "" {
				return fault.Usage(errors.New("say with -t what the image is called"))
			}
			ref, err := source.Parse(o.Name)
			if err != nil || ref.Kind != source.Registry || ref.User != "" || ref.Digest != "" {
				return fault.Usage(fmt.Errorf("%q is no name of an image, such as train or train:v2", o.Name))
			}
			if err := place.find(a); err != nil {
				return err
			}
			o.Context = args[0]
			return a.build(c.Context(), place, o, f, ref)
		},
	}
	f.add(c)
	c.Flags().StringVarP(&o.Name, "tag", "t", "", "the image's `NAME`, with a tag or without")
	c.Flags().StringVarP(&o.File, "file", "f", "", "the Dockerfile `FILE` (default: Containerfile or Dockerfile in CONTEXT)")
	repeat(c.Flags(), &o.Args, "build-arg", "`KEY=VALUE` for an ARG of the Dockerfile")
	c.Flags().StringVar(&o.Builder, "builder", "", "the `PROGRAM` that builds: buildah, podman or docker (default: the first there is)")
	return c
}

// build builds, pushes and imports. What lies between is in a directory beside
// the images, where the head node sees it, too.
func (a *app) build(ctx context.Context, place *imagePlace, o image.BuildOptions, f importFlags, ref source.Ref) error {
	f.name = ref.Name()
	i, err := f.options(place)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(place.Dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of images: %w", err)
	}
	if o.Work, err = os.MkdirTemp(place.Dir, ".build-"); err != nil {
		return fmt.Errorf("make a directory for the build: %w", err)
	}
	defer os.RemoveAll(o.Work)
	o.Out = a.err
	if a.quiet {
		o.Out = io.Discard
	}
	built, err := a.buildWithRegistry(ctx, place, o)
	if err != nil {
		return err
	}
	i.URI, i.Reference = built.URI, built.Reference
	pushed, err := a.pushBuilt(ctx, place, built.URI, ref)
	if err != nil {
		return err
	}
	if pushed != "" {
		i.Reference = pushed
	}
	done, err := a.importImage(ctx, i)
	if err != nil {
		return err
	}
	return a.showImported(place, done)
}

// buildWithRegistry builds what may begin with an image of the cluster's own registry, if
// there is a cluster that runs: for as long as the builder runs, a port leads there.
func (a *app) buildWithRegistry(ctx context.Context, place *imagePlace, o image.BuildOptions) (image.Built, error) {
	if place.OnNodes == "" {
		return image.Build(ctx, o)
	}
	l, _, _, err := a.running()
	if err != nil {
		return image.Build(ctx, o) // which may do without
	}
	f, err := local.ForwardRegistry(ctx, l)
	if err != nil {
		return image.Built{}, err
	}
	defer f.Close()
	o.Env = f.Env()
	return image.Build(ctx, o)
}

// pushBuilt pushes what was built to the cluster's registry, from the head node,
// and returns its reference there; it is "" if there is no cluster that runs.
func (a *app) pushBuilt(ctx context.Context, place *imagePlace, uri string, ref source.Ref) (string, error) {
	if place.OnNodes == "" {
		return "", nil
	}
	_, built, _ := strings.Cut(uri, ":")
	l, _, anchor, err := a.running()
	if err != nil {
		a.note("the image is not pushed: %v", err)
		return "", nil
	}
	rel, err := filepath.Rel(place.Dir, built)
	if err != nil {
		return "", err
	}
	ref.Host, ref.Repository = local.RegistryAddress(), strings.TrimPrefix(ref.Repository, "library/")
	line := l.HeadCommand(anchor, "/", []string{services.Muster, "image", "push", filepath.Join(place.OnNodes, rel), ref.String()})
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = local.HeadEnv()
	cmd.Stderr = a.err
	if err := (tie.Program{Cmd: cmd, Through: true, AtDeath: syscall.SIGTERM}).RunUntil(ctx); err != nil {
		return "", fmt.Errorf("push to the cluster's registry: %w", err)
	}
	return ref.String(), nil
}

func (a *app) imagePush() *cobra.Command {
	return &cobra.Command{
		Use:    "push FOLDER|FILE.tar REFERENCE",
		Short:  "Copy what was built to a registry",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			to, err := source.Parse(args[1])
			if err != nil {
				return fault.Usage(err)
			}
			digest, err := source.Push(c.Context(), args[0], to, source.Options{AuthFiles: registryFiles(nil)})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, digest)
			return err
		},
	}
}
