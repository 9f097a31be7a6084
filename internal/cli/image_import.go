package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// importMemory is the heap's soft limit while an image is made: more than that
// makes it no faster, and the garbage collector would use what it gets.
const importMemory = 160 << 20

// importFlags are what import and build have in common.
type importFlags struct {
	name, owners, limit string
}

func (f *importFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.owners, "owners", "root", "`WHO` has the files: root, or keep for the owners that they have in the layers")
	c.Flags().StringVar(&f.limit, "cache-limit", "", "how many `BYTES` of layers the cache keeps (default: 64G, or a quarter of the disk)")
}

// options are those of an import into a place.
func (f *importFlags) options(p *imagePlace) (image.ImportOptions, error) {
	o := image.ImportOptions{Dir: p.Dir, Cache: p.Cache, Name: f.name, Progress: &image.Progress{}}
	info, _ := debug.ReadBuildInfo()
	o.Version = versionOf(info).Version
	switch f.owners {
	case "keep":
	case "root":
		o.RootOwned = true
	default:
		return o, fault.Usage(fmt.Errorf("no owners %q: use keep or root", f.owners))
	}
	if f.limit != "" {
		limit, err := bytesOf(f.limit)
		o.CacheLimit = max(limit, 1)
		return o, err
	}
	return o, nil
}

func (a *app) imageImport(place *imagePlace) *cobra.Command {
	var f importFlags
	var arch string
	var authFiles []string
	var plainHTTP, force bool
	c := &cobra.Command{
		Use:   "import URI",
		Short: "Make a squashfs file of a container image",
		Long: `Import makes one squashfs file, NAME.sqsh, of a container image. It needs no
daemon, no root and no unpacked copy. Layers are fetched in parallel, checked,
and kept in a cache for the next version. If the image is there with the same
digest, there is nothing to do. The image may be

  docker://[USER@][REGISTRY/]IMAGE[:TAG][@DIGEST]
      in a registry; docker:// may be left out; REGISTRY#IMAGE is Enroot's form
  dockerd://IMAGE, podman://IMAGE, buildah://IMAGE
      what these programs keep on this machine
  oci:FOLDER[:TAG]
      in the OCI image layout
  FILE.tar
      made by docker save, podman save or skopeo

Credentials are those of docker login and its helpers, of podman login, of
Enroot's .credentials, and for Amazon's registries those of AWS.`,
		Example: "  muster image import nvcr.io/nvidia/pytorch:25.06-py3 --name pytorch\n" +
			"  muster image import docker://123456789012.dkr.ecr.us-east-1.amazonaws.com/train:v2 --arch arm64\n" +
			"  muster image import ./train.tar --dir /fsx/containers/images",
		Args: cobra.ExactArgs(1),
		RunE: a.whereItIs(place, func(c *cobra.Command, args []string) error {
			if err := place.find(a); err != nil {
				return err
			}
			o, err := f.options(place)
			if err != nil {
				return err
			}
			if err := a.ofRegistry(c.Context(), args[0], place); err != nil {
				return err
			}
			o.URI, o.Again = args[0], force
			o.Source.Arch, o.Source.PlainHTTP = arch, plainHTTP || enrootAllowsHTTP(os.Getenv("ENROOT_ALLOW_HTTP"))
			o.Source.AuthFiles = registryFiles(authFiles)
			done, err := a.importImage(c.Context(), o)
			if err != nil {
				return err
			}
			return a.showImported(place, done)
		}),
	}
	f.add(c)
	c.Flags().StringVar(&f.name, "name", "", "the image's `NAME` here (default: from the URI, as NAME+TAG)")
	c.Flags().StringVar(&arch, "arch", "", "the image's `ARCHITECTURE`, such as arm64 (default: this machine's)")
	repeat(c.Flags(), &authFiles, "authfile", "a `FILE` of credentials, as docker login or podman login write it")
	c.Flags().BoolVar(&force, "force", false, "make it anew though it is there, such as when 'muster image verify' finds it damaged")
	c.Flags().BoolVar(&plainHTTP, "plain-http", false, "allow a registry without TLS that is not on this machine or a private network")
	return c
}

// enrootAllowsHTTP reads a switch as Enroot does: all but the words for no mean yes.
func enrootAllowsHTTP(value string) bool {
	switch value {
	case "", "n", "no", "N", "NO", "f", "false", "FALSE":
		return false
	}
	return true
}

// importImage imports and shows how far it is.
func (a *app) importImage(ctx context.Context, o image.ImportOptions) (image.Imported, error) {
	debug.SetMemoryLimit(importMemory)
	stop := a.watchImport(o.Progress)
	defer stop()
	return image.Import(ctx, o)
}

// showImported says what was imported. The answer is the path to give to
// --container-image.
func (a *app) showImported(place *imagePlace, done image.Imported) error {
	onNodes := place.onNodes(done.Image)
	if a.output == "json" {
		return a.writeJSON(importAnswer{Imported: done, OnNodes: onNodes})
	}
	if !a.quiet {
		fmt.Fprintln(a.err, importSummary(done))
	}
	_, err := fmt.Fprintln(a.out, onNodes)
	return err
}

// importAnswer is what `muster image import -o json` prints.
type importAnswer struct {
	image.Imported
	// OnNodes is the file's path on the cluster's machines.
	OnNodes string `json:"on_nodes"`
}

func importSummary(done image.Imported) string {
	if done.Unchanged {
		return fmt.Sprintf("%s is there already: %s; `muster image verify` compares its bytes", filepath.Base(done.Path), done.Digest)
	}
	fetched := count.Of(done.Fetched, "layer") + " fetched"
	if done.Fetched < len(done.Layers) {
		fetched = fmt.Sprintf("%d of %s fetched", done.Fetched, count.Of(len(done.Layers), "layer"))
	}
	return fmt.Sprintf("%s: %s, %s (%s) in %.1f s", filepath.Base(done.Path), count.Bytes(done.SizeBytes), fetched, count.Bytes(done.FetchedBytes), done.Seconds)
}
