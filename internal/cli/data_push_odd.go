package cli

import (
	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
)

// tellOdd tells what a push found that nobody expects.
func (a *app) tellOdd(to target, p data.Pushed, o data.PushOptions) {
	a.tellIdle(p)
	if n := p.Different; n.All > 0 {
		a.note("%s of unchanged size and time with other bytes than were pushed: %s", count.Are(n.All, "file"), some(n))
	}
	if there := p.UnchangedFiles + p.FoundFiles; there > 0 && (o.Class != "" || o.KMSKey != "") {
		a.note("%s: --storage-class and --sse-kms count for what is sent", stayed(there))
	}
	if n := p.Strays; n.All > 0 {
		a.note("%s at %s that no push put; they stay: %s", count.Are(n.All, "object"), to, some(n))
	}
	if n := p.Below; n.All > 0 {
		a.note("of these, some are of %s below %s, and stay: %s", count.Of(n.All, "other dataset"), to, some(n))
	}
	if p.Around != nil {
		a.note("%s lies inside the dataset %s, whose pushes count its files among their strays", to, target{to.bucket, *p.Around})
	}
	if n := p.Lost; n.All > 0 {
		a.note("%s of the dataset were deleted from the bucket by somebody, and are not in the source either: %s", count.Of(n.All, "file"), some(n))
	}
	if n := p.OldManifests; n.All > 0 {
		a.note("%s of former pushes stay, which nobody reads: there is no right to delete them (s3:DeleteObject): %s", count.Of(n.All, "manifest"), some(n))
	}
	if p.LinksLeft > 0 {
		a.note("%s left out", count.Of(p.LinksLeft, "symbolic link"))
	}
}

func stayed(files int64) string {
	if files == 1 {
		return "1 file that is there stays as it was put"
	}
	return count.Of(files, "file") + " that are there stay as they were put"
}

// tellIdle tells of patterns that say nothing, and of how they are probably meant. To leave out what is not there is
// usual where it could be anywhere.
func (a *app) tellIdle(p data.Pushed) {
	tell := func(flag, pattern string) {
		if everywhere := data.Everywhere(pattern); everywhere != "" {
			a.note("%s %s matches nothing at the top of the source; %s means it in any directory", flag, page.Printable(pattern), page.Printable(everywhere))
		} else if flag == "--include" {
			a.note("%s %s matches nothing", flag, page.Printable(pattern))
		}
	}
	for _, pattern := range p.IdleIncludes {
		tell("--include", pattern)
	}
	for _, pattern := range p.IdleExcludes {
		tell("--exclude", pattern)
	}
}
