package export_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestCutOffStays has checkpoints of which a file is empty or cut off: nothing of them goes out until it is whole.
func TestCutOffStays(t *testing.T) {
	text, err := os.ReadFile("../data/checkpoint/testdata/contents/torch.pt")
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for _, c := range []struct {
		name, text, why string
	}{
		{"empty", "", "run/step-2 is not whole: rank_0.pt has 0 bytes"},
		{"cut_off", whole[:2000], "run/step-2 is not whole: rank_0.pt: it begins like a zip archive, and has no end"},
		{"of_another_form", "weights", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, fake := t.TempDir(), &storetest.Fake{}
			write(t, dir, files{"run/step-1/rank_0.pt": whole, "run/step-1/COMPLETE": "", "run/step-2/rank_0.pt": c.text, "run/step-2/COMPLETE": ""})
			m := mirror(dir, fake)
			round := func(hours int) {
				t.Helper()
				if _, err := m.Round(t.Context(), soon().Add(time.Duration(hours)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			for hours := range 3 {
				round(hours)
			}
			have := bucket(t, fake)
			if have["fsx1/run/step-1/rank_0.pt"] != whole {
				t.Error("the whole one is not there")
			}
			if _, there := have["fsx1/run/step-2/rank_0.pt"]; there != (c.why == "") {
				t.Errorf("there is %v", have)
			}
			_, blocked := m.Track.Left()
			if why := blocked["run/step-2/rank_0.pt"]; why != c.why {
				t.Errorf("it is blocked: %q, want %q", why, c.why)
			}
			write(t, dir, files{"run/step-2/rank_0.pt": whole, "run/step-2/COMPLETE": ""})
			m.LookAgain()
			for hours := range 3 {
				round(hours + 4)
			}
			if bucket(t, fake)["fsx1/run/step-2/rank_0.pt"] != whole {
				t.Error("written again, it is not there")
			}
		})
	}
}

// TestLinksAreNotRead has a link to a file that only root may read in the place of a checkpoint's: nothing is read of it.
func TestLinksAreNotRead(t *testing.T) {
	dir, fake, other := t.TempDir(), &storetest.Fake{}, filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("PK\x03\x04"+strings.Repeat("x", 99)), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"run/step-1/rank_1.bin": "weights"})
	if err := os.Symlink(other, filepath.Join(dir, "run/step-1/rank_0.pt")); err != nil {
		t.Fatal(err)
	}
	m := mirror(dir, fake)
	for hours := range 3 {
		if _, err := m.Round(t.Context(), soon().Add(time.Duration(hours)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if have := bucket(t, fake); have["fsx1/run/step-1/rank_1.bin"] != "weights" {
		_, blocked := m.Track.Left()
		t.Errorf("there is %v; %v", fmt.Sprint(have), blocked)
	}
}
