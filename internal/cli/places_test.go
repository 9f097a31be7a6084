package cli

import "github.com/muster-hpc/muster/internal/place"

// AddPlace adds a place for tests.
func AddPlace(p place.Place) { places = append(places, p) }
