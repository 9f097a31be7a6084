package cause

import (
	"slices"

	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// Gather adds what the next piece of a log says to what was kept of a run, up to so many signs. The
// first ones tell the cause, so these are kept; what a training got over is let go, and so are
// lines that tell of no end.
func Gather(kept []Sign, file string, found trainlog.Found, most int) []Sign {
	for i := range kept {
		if kept[i].File == file {
			kept[i].Later += len(found.Samples)
		}
	}
	for _, s := range found.Signs {
		if s.Kind == trainlog.Provider || s.Kind == trainlog.Network {
			continue
		}
		sign := Sign{File: file, Sign: s}
		for i := len(found.Samples) - 1; i >= 0 && found.Samples[i].Place.Offset > s.Place.Offset; i-- {
			sign.Later++
		}
		kept = append(kept, sign)
	}
	kept = slices.DeleteFunc(kept, Sign.outlived)
	return kept[:min(len(kept), most)]
}
