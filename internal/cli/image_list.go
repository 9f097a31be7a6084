package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

func (a *app) imageList(place *imagePlace) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the images of the directory",
		Example: "  muster image list\n  muster image list -o json | jq -r '.images[].path'",
		Args:    cobra.NoArgs,
		RunE: a.whereItIs(place, func(*cobra.Command, []string) error {
			if err := place.find(a); err != nil {
				return err
			}
			all, err := image.List(place.Dir)
			if err != nil {
				return err
			}
			if a.output == "json" {
				return a.writeJSON(imagesAnswer{Dir: place.Dir, Images: append([]image.Image{}, all...)})
			}
			if len(all) == 0 {
				fmt.Fprintf(a.err, "there is no image in %s; `muster image import URI` brings one\n", page.Printable(place.Dir))
				return nil
			}
			return imageTable(all, time.Now()).Write(a.out)
		}),
	}
	place.addOfSteps(c)
	return c
}

// imagesAnswer is what `muster image list -o json` prints.
type imagesAnswer struct {
	Dir    string        `json:"dir"`
	Images []image.Image `json:"images"`
}

func imageTable(all []image.Image, now time.Time) page.Table {
	t := page.Table{{"NAME", "SIZE", "DIGEST", "CREATED", "SOURCE"}}
	for _, i := range all {
		row := []string{i.Name, count.Bytes(i.SizeBytes), "", "", i.Problem}
		if i.Meta != nil {
			row[2], row[3], row[4] = shortDigest(i.Digest), clock(i.Created, now), i.Source
			if !i.Saved.IsZero() {
				row[3], row[4] = clock(i.Saved, now), "saved by a step"
			}
		}
		t.Add(row...)
	}
	return t
}

// shortDigest is enough of a digest to tell it from others.
func shortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }
