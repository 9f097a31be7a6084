package place

import (
	"context"

	"github.com/muster-hpc/muster/internal/status"
)

// Absent stands for a place that this system cannot have, and says why.
type Absent struct {
	// Called and At are its name and where its clusters would be.
	Called, At string
	Why        error
}

// Name implements Place.
func (a Absent) Name() string { return a.Called }

// On implements Place.
func (a Absent) On() string { return a.At }

// Here implements Place.
func (a Absent) Here() error { return a.Why }

// Known implements Place.
func (Absent) Known(string) ([]Known, error) { return nil, nil }

// Kept implements Place.
func (Absent) Kept(string) []Kept { return nil }

// Asks implements Place.
func (Absent) Asks() bool { return false }

// Lacks implements Place.
func (Absent) Lacks(string, string) bool { return false }

// Open implements Place.
func (a Absent) Open(string, string, Talk) (Cluster, error) { return nil, a.Why }

// Read implements Place.
func (a Absent) Read(context.Context, Files, Talk) (Wanted, error) { return nil, a.Why }

// Look implements Place.
func (Absent) Look(context.Context, Query) ([]status.Cluster, error) { return nil, nil }
