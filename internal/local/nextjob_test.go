package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

func TestNextJob(t *testing.T) {
	const state = "\x00\x00\x00\x11PROTOCOL_VERSION\x00\x26\x00\x00\x00\x00\x00\x6b\x03\x02\x98\x00\x00\x00\x09"
	for _, row := range []struct {
		name, before, state string // "" is no file
		want                int
	}{
		{"no_cluster_ever", "", "", 0},
		{"saved", "", state, 10_009},
		{"kept_is_greater", "12345\n", state, 12_345},
		{"kept_is_less", "5\n", state, 10_009},
		{"junk", "x\n", state[:9], 0},
		{"too_near_to_the_last", "66000000\n", "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := &nodes.Layout{Dir: t.TempDir()}
			for path, text := range map[string]string{nextJobFile: row.before, "state/slurmctld/job_state": row.state} {
				if err := os.MkdirAll(filepath.Dir(l.Path(path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if text == "" {
					continue
				}
				if err := os.WriteFile(l.Path(path), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := keepNextJob(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if got := nextJob(l); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}
