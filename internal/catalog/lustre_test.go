package catalog_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/catalog"
)

func TestLustreCapacity(t *testing.T) {
	for _, row := range []struct {
		deployment            string
		hdd                   bool
		speed, gib, low, high int
	}{
		{"SCRATCH_1", false, 0, 1200, 1200, 1200},
		{"SCRATCH_1", false, 0, 3000, 2400, 3600},
		{"SCRATCH_1", false, 0, 7200, 7200, 7200},
		{"SCRATCH_2", false, 0, 100, 0, 1200},
		{"SCRATCH_2", false, 0, 1300, 1200, 2400},
		{"PERSISTENT_2", false, 250, 4801, 4800, 7200},
		{"PERSISTENT_2", false, 250, 7200, 7200, 7200},
		{"PERSISTENT_2", false, 250, -5, 0, 1200},
		{"PERSISTENT_1", true, 12, 6000, 6000, 6000},
		{"PERSISTENT_1", true, 40, 1801, 1800, 3600},
	} {
		sizes := catalog.LustreCapacity(row.deployment, row.hdd, row.speed)
		low, high := sizes.Around(row.gib)
		if low != row.low || high != row.high || sizes.Allows(row.gib) != (low == high) {
			t.Errorf("%s %d: got %d %d (%v), want %d %d", row.deployment, row.gib, low, high, sizes.Allows(row.gib), row.low, row.high)
		}
	}
}

func TestVolumeOf(t *testing.T) {
	for _, kind := range []string{"standard", "io1", "io2", "gp2", "st1", "sc1", "gp3"} {
		v, ok := catalog.VolumeOf(kind)
		if !ok || v.Type != kind || v.MinGiB < 1 || v.MaxGiB <= v.MinGiB {
			t.Errorf("%s: got %+v, %v", kind, v, ok)
		}
		if set := v.MaxIops > 0; set != (v.DefaultIops > 0) || set != (v.IopsPerGiB > 0) || v.DefaultIops < v.MinIops {
			t.Errorf("%s: got IOPS %d %d %d", kind, v.MinIops, v.DefaultIops, v.MaxIops)
		}
	}
	if v, ok := catalog.VolumeOf("gp4"); ok {
		t.Errorf("got %+v for gp4", v)
	}
}
