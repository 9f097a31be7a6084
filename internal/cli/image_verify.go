package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/image"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
)

func (a *app) imageVerify(place *imagePlace) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify [NAME|FILE...]",
		Short: "Compare images with what was written",
		Long: `Verify reads images, all of them if none is named, and compares them with the
checksums in them. It fails if one is damaged. Files that other programs have made,
or an older muster, have no checksum: nothing is known of them.`,
		Example:           "  muster image verify\n  muster image verify pytorch || muster image import nvcr.io/nvidia/pytorch:25.06-py3 --name pytorch --force",
		ValidArgsFunction: a.existingImages(place),
		RunE: a.whereItIs(place, func(c *cobra.Command, names []string) error {
			names, err := place.named(a, names)
			if err != nil {
				return err
			}
			answer := verifyAnswer{Dir: place.Dir, Images: []image.Verified{}}
			for _, name := range names {
				v, err := image.Verify(c.Context(), place.Dir, name)
				if err != nil {
					return err
				}
				answer.Images = append(answer.Images, v)
			}
			return a.showVerified(place, answer)
		}),
	}
	place.addOfSteps(c)
	return c
}

// named are the names of images that are given, or those of all images of the directory.
// Paths do not need the directory.
func (p *imagePlace) named(a *app, names []string) ([]string, error) {
	isPath := func(name string) bool { return strings.Contains(name, "/") }
	if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !isPath(name) }) {
		return names, nil
	}
	if err := p.find(a); err != nil || len(names) > 0 {
		return names, err
	}
	all, err := image.List(p.Dir)
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names, err
}

// verifyAnswer is what `muster image verify -o json` prints.
type verifyAnswer struct {
	Dir    string           `json:"dir"`
	Images []image.Verified `json:"images"`
}

// showVerified shows the verdicts, and what to do about damaged images.
func (a *app) showVerified(place *imagePlace, answer verifyAnswer) error {
	t := page.Table{{"NAME", "VERDICT", "WHY"}}
	var damaged []image.Verified
	for _, v := range answer.Images {
		t.Add(v.Name, string(v.Verdict), v.Problem)
		if v.Verdict == image.Damaged {
			damaged = append(damaged, v)
		}
	}
	if err := a.answer(answer, func() error { return t.Write(a.out) }); err != nil || len(damaged) == 0 {
		return err
	}
	for _, v := range damaged {
		fmt.Fprintf(a.err, "%s is damaged: %s\n", page.Printable(v.Name), place.repair(v))
	}
	return fault.Exit(fault.ExitProblem)
}

// repair is what makes a damaged image anew.
func (p *imagePlace) repair(v image.Verified) string {
	switch {
	case p.OfSteps:
		return "`muster image remove --of-steps " + word(v.Name) + "`, and the next step that wants it brings it again"
	case v.Meta != nil && !v.Saved.IsZero():
		return "a step has saved it, and only a step with `--container-save` makes it again"
	case v.Meta != nil && v.Source != "":
		return "`muster image import --force --name " + word(v.Name) + " " + word(v.Source) + "` makes it again"
	}
	return "`muster image import --force --name " + word(v.Name) + "` and where it came from make it again"
}
