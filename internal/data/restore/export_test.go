package restore

import "github.com/muster-hpc/muster/internal/store"

// Through is a view whose objects are read from another store, that fails say.
func Through(v *View, s store.Store) *View {
	other := *v
	other.bucket = s
	return &other
}
