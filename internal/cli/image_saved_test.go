package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image"
)

// TestSavedImage: an image that a step has saved has no source to show or to be made
// again of.
func TestSavedImage(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.Local)
	saved := image.Image{Name: "mine", Path: "/fsx/mine.sqsh", Compression: "zstd", Meta: &image.Meta{Saved: now, Muster: "v1"}}
	var out bytes.Buffer
	if err := imageTable([]image.Image{saved}, now).Write(&out); err != nil {
		t.Fatal(err)
	}
	if err := showImage(&out, saved); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12:00:00  saved by a step\n", " by a step, with muster v1\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "linux/") || strings.Contains(out.String(), "Imported") {
		t.Errorf("got\n%s", &out)
	}
	out.Reset()
	a := &app{out: io.Discard, err: &out}
	if err := a.showVerified(&imagePlace{}, verifyAnswer{Images: []image.Verified{{Image: saved, Verdict: image.Damaged}}}); err == nil {
		t.Error("a damaged image is no problem")
	}
	if want := "mine is damaged: a step has saved it, and only a step with `--container-save` makes it again\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
