//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/image/pack"
	"github.com/muster-hpc/muster/internal/image/source"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

func (a *app) imagePack() *cobra.Command {
	var tag string
	var o pack.Options
	c := &cobra.Command{
		Use:   "pack -t [REGISTRY/]NAME[:TAG] LAYER...",
		Short: packShort,
		Long: `Pack makes an image without a builder: each LAYER is a tar file, "-" for a tar
stream on stdin, or a directory, whose content comes to the image's root. It goes to
a registry, the cluster's own if none is named, while it is read.`,
		Example: "  muster image pack -t train:v1 --workdir /workspace root.tar program\n" +
			"  muster image import " + local.RegistryAddress() + "/train:v1",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			to, err := a.packTarget(c.Context(), tag)
			if err != nil {
				return err
			}
			o.Created = time.Now().UTC().Truncate(time.Second)
			return a.packImage(c.Context(), to, args, o)
		},
	}
	c.Flags().StringVarP(&tag, "tag", "t", "", "the image's `NAME`, with a registry and a tag or without")
	repeat(c.Flags(), &o.Env, "env", "`KEY=VALUE` for the image's environment")
	c.Flags().StringVar(&o.Workdir, "workdir", "", "the `DIRECTORY` in which its programs start")
	// It fails only for a flag that is not there.
	_ = c.MarkFlagRequired("tag")
	return c
}

// packTarget is where an image goes. If that is the cluster's own registry, the
// same command line is run again on the head node, which reaches it.
func (a *app) packTarget(ctx context.Context, tag string) (source.Ref, error) {
	to, err := source.Parse(tag)
	if err != nil || to.Kind != source.Registry || to.User != "" || to.Digest != "" {
		return to, fault.Usage(fmt.Errorf("%q is no name for an image, such as train:v1", tag))
	}
	if to.Host == source.Hub && !strings.Contains(tag, "docker.io/") {
		to.Host, to.Repository = local.RegistryAddress(), strings.TrimPrefix(to.Repository, "library/")
	}
	if to.Host == local.RegistryAddress() && !inside() {
		if err := a.localOnly("it has no registry of its own; say with --tag which one the image goes to"); err != nil {
			return to, err
		}
		return to, a.again(ctx)
	}
	return to, nil
}

// packed is what `muster image pack -o json` prints.
type packed struct {
	Reference string  `json:"reference"`
	Digest    string  `json:"digest"`
	Bytes     int64   `json:"read_bytes"`
	Seconds   float64 `json:"seconds"`
}

func (a *app) packImage(ctx context.Context, to source.Ref, paths []string, o pack.Options) (err error) {
	began := time.Now()
	var progress packProgress
	layers, err := progress.open(ctx, paths)
	defer func() {
		for _, l := range layers {
			err = errors.Join(err, l.Close())
		}
	}()
	if err != nil {
		return err
	}
	img, err := pack.Image(layers, o)
	if err != nil {
		return err
	}
	stop := a.watchImport(&progress)
	digest, err := source.PushImage(ctx, img, to, source.Options{AuthFiles: registryFiles(nil)})
	stop()
	if err != nil {
		return err
	}
	done := packed{Reference: to.String(), Digest: digest, Bytes: progress.read.Load(), Seconds: time.Since(began).Seconds()}
	if a.output == "json" {
		return a.writeJSON(done)
	}
	if !a.quiet {
		fmt.Fprintf(a.err, "%s in %.1f s, %s\n", count.Bytes(done.Bytes), done.Seconds, done.Digest)
	}
	_, err = fmt.Fprintln(a.out, done.Reference)
	return err
}

// packProgress counts what has been read of the layers.
type packProgress struct {
	read  atomic.Int64
	total int64
}

// open opens the layers, and returns those that it opened also with an error.
func (p *packProgress) open(ctx context.Context, paths []string) (layers []pack.Layer, err error) {
	for _, path := range paths {
		l := pack.Layer{Origin: path}
		info, err := os.Stat(path)
		switch {
		case path == "-":
			l.ReadCloser = heed.Reader(ctx, os.Stdin)
		case err != nil:
			return layers, err
		case info.IsDir():
			l = pack.Directory(path, "/")
		case !info.Mode().IsRegular(): // a pipe without a writer, a device without an end
			return layers, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no ordinary file and no directory; - is a tar stream on the standard input")}
		default:
			if l.ReadCloser, err = heed.Open(ctx, path); err != nil {
				return layers, err
			}
			p.total += info.Size()
		}
		l.ReadCloser = countedLayer{l.ReadCloser, &p.read}
		layers = append(layers, l)
	}
	return layers, nil
}

// Look says how far it is. How much is in directories and streams is not known.
func (p *packProgress) Look() image.Step {
	return image.Step{Phase: "sending layers", Bytes: min(p.read.Load(), p.total), Total: p.total}
}

type countedLayer struct {
	io.ReadCloser
	read *atomic.Int64
}

func (l countedLayer) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.read.Add(int64(n))
	return n, err
}
