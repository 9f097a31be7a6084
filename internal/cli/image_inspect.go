package cli

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

func (a *app) imageInspect(place *imagePlace) *cobra.Command {
	return &cobra.Command{
		Use:               "inspect NAME|FILE",
		Short:             "Show where an image is from, its layers, environment and command",
		Example:           "  muster image inspect pytorch\n  muster image inspect /fsx/containers/images/pytorch.sqsh -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.existingImages(place),
		RunE: a.whereItIs(place, func(_ *cobra.Command, args []string) error {
			if err := place.findFor(a, args[0]); err != nil {
				return err
			}
			i, err := image.Inspect(place.Dir, args[0])
			if err != nil {
				return err
			}
			return a.answer(i, func() error { return showImage(a.out, i) })
		}),
	}
}

// findFor finds the directory unless the image is given by its path.
func (p *imagePlace) findFor(a *app, name string) error {
	if strings.Contains(name, "/") {
		return nil
	}
	return p.find(a)
}

// showImage writes the facts of an image, one a line.
func showImage(w io.Writer, i image.Image) error {
	var t page.Table
	row := func(name, value string) {
		if value != "" {
			t.Add(name, value)
		}
	}
	row("Name", i.Name)
	row("File", i.Path)
	row("Size", count.Bytes(i.SizeBytes))
	if i.Meta == nil {
		row("Compression", i.Compression)
		row("Made by", "another program; it says no more of itself")
		return t.Write(w)
	}
	if !i.Saved.IsZero() {
		row("Compression", i.Compression)
		row("Saved", moment(i.Saved)+" by a step, with muster "+i.Muster)
		return t.Write(w)
	}
	row("Unpacked", count.Bytes(i.UncompressedBytes))
	row("Source", i.Source)
	row("Digest", i.Digest)
	row("Platform", "linux/"+i.Arch)
	row("Created", moment(i.Created))
	row("Imported", moment(i.Imported)+" by muster "+i.Muster)
	row("Entrypoint", shell.Line(i.Entrypoint))
	row("Command", shell.Line(i.Cmd))
	row("Directory", i.Workdir)
	row("User", i.User)
	for _, v := range i.Volumes {
		row("Volume", v)
	}
	for _, e := range i.Env {
		row("Environment", e)
	}
	for _, k := range slices.Sorted(maps.Keys(i.Labels)) {
		row("Label", k+"="+i.Labels[k])
	}
	for _, l := range i.Layers {
		row("Layer", l.Digest+" "+count.Bytes(l.SizeBytes))
	}
	return t.Write(w)
}

// moment is a time with its date and zone, "" if it is not known.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}
