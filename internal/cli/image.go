package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/image/source"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
)

func (a *app) image() *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Make container images into squashfs files, list and remove them",
		Long: `Images are squashfs files, NAME.sqsh, in a directory on shared storage: the one
that --dir or MUSTER_IMAGES names, or else the cluster's.`,
	}
	place := &imagePlace{}
	c.PersistentFlags().StringVar(&place.Dir, "dir", "", "the `DIRECTORY` of images (default: $MUSTER_IMAGES, or the cluster's)")
	c.PersistentFlags().StringVar(&place.Cache, "cache", "", "the `DIRECTORY` of the layer cache (default: $MUSTER_IMAGE_CACHE, or .layers in that of the images)")
	c.AddCommand(a.imageImport(place), a.imageList(place), a.imageInspect(place), a.imageRemove(place), a.imagePrune(place), a.imageVerify(place))
	c.AddCommand(a.imageMakers(place)...)
	return c
}

// imagePlace is where images are.
type imagePlace struct {
	Dir, Cache string
	// OnNodes is Dir as the cluster's machines see it, if that is another path.
	OnNodes string
	// OfSteps is for the user's images that steps have brought by their URIs.
	OfSteps bool
}

// addOfSteps adds the flag by which a command is about the images of steps.
func (p *imagePlace) addOfSteps(c *cobra.Command) {
	c.Flags().BoolVar(&p.OfSteps, "of-steps", false, "the images that your steps have brought by their URIs")
}

// whereItIs makes a command about images one that runs on the head node of a cluster on
// AWS, unless the command line says that the images are elsewhere.
func (a *app) whereItIs(p *imagePlace, run func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		w, err := a.find("")
		if inside() || err != nil || w.Near() != nil || p.Dir != "" || os.Getenv("MUSTER_IMAGES") != "" || ofHere(c, args) {
			return run(c, args) // its error says more
		}
		return a.againOn(c.Context(), w)
	}
}

// ofHere tells whether a command about images is about something on this machine.
func ofHere(c *cobra.Command, args []string) bool {
	switch c.Name() {
	case "inspect":
		return strings.Contains(args[0], "/")
	case "import":
		ref, err := source.Parse(args[0])
		return err != nil || ref.Kind != source.Registry
	}
	return false
}

// find fills in what the command line leaves open.
func (p *imagePlace) find(a *app) error {
	if err := p.findDir(a); err != nil || !p.OfSteps {
		return err
	}
	of := image.FindUserDir(p.Dir)
	if of == "" {
		return fmt.Errorf("no step of yours has brought an image into %s", p.Dir)
	}
	if p.OnNodes != "" {
		p.OnNodes = filepath.Join(p.OnNodes, filepath.Base(of))
	}
	p.Dir = of
	return nil
}

func (p *imagePlace) findDir(a *app) error {
	if p.Cache == "" {
		p.Cache = os.Getenv("MUSTER_IMAGE_CACHE")
	}
	if p.Dir == "" {
		p.Dir = os.Getenv("MUSTER_IMAGES")
	}
	if p.Dir != "" {
		dir, err := filepath.Abs(p.Dir)
		p.Dir = dir
		return err
	}
	if inside() {
		dir, err := imagesFile(services.ImagesFile)
		p.Dir = dir
		return err
	}
	if err := a.localOnly("images are made there of what registries have: push the image, then `muster image import` it"); err != nil {
		return err
	}
	return p.ofLocal(a)
}

// imagesFile reads the file that names the directory of images.
func imagesFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("this cluster has no directory of images; `muster up FILE` makes it, or say with --dir where they are")
	}
	return strings.TrimSpace(string(data)), err
}

// onNodes is an image's path as the cluster's machines see it.
func (p *imagePlace) onNodes(i image.Image) string {
	if p.OnNodes == "" {
		return i.Path
	}
	return filepath.Join(p.OnNodes, filepath.Base(i.Path))
}

// registryFiles are files of credentials, with that for the cluster's own registry if
// this runs on one of its machines: the owner's, or else that for reading.
func registryFiles(more []string) []string {
	if !inside() {
		return more
	}
	for _, file := range []string{services.RegistryFile, services.ReaderFile} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		f.Close()
		return append(more, file)
	}
	return more
}

// bytesOf reads a number of bytes: 500M, 64G, 1TiB. Units are powers of 1024.
func bytesOf(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	shift := 0
	if i := strings.IndexAny(number, "KMGT"); i >= 0 && i == len(number)-1 {
		shift = 10 * (1 + strings.IndexByte("KMGT", number[i]))
		number = number[:i]
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0, fault.Usage(fmt.Errorf("%q is no number of bytes, such as 500M or 64G", text))
	}
	return n << shift, nil
}

// existingImages completes the names of images.
func (a *app) existingImages(place *imagePlace) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if place.find(a) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := image.List(place.Dir)
		var names []string
		for _, i := range all {
			names = append(names, i.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
