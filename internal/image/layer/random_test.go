package layer_test

import (
	"archive/tar"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/image/layer"
)

// chance makes layers in which everything meets everything: a few names, all
// types, links and whiteouts to anywhere.
type chance struct{ *rand.Rand }

func (c chance) name() string {
	parts := []string{"a", "b", "c"}
	name := parts[c.IntN(3)]
	for c.IntN(2) == 0 && len(name) < 7 {
		name += "/" + parts[c.IntN(3)]
	}
	return name
}

func (c chance) item(n int) item {
	name, body := c.name(), strings.Repeat(fmt.Sprint(n), 1+c.IntN(5))
	owner := c.IntN(3)
	switch c.IntN(10) {
	case 0, 1:
		return file(name, body).owned(owner, 0)
	case 2, 3, 4:
		return dir(name).at(1000+int64(n)).owned(owner, owner)
	case 5:
		return symlink(name, []string{"", "/", "../"}[c.IntN(3)]+c.name())
	case 6:
		return hardlink(name, c.name())
	case 7:
		return whiteout(name)
	case 8:
		return opaque(name)
	default:
		return device(name, tar.TypeFifo, 0, 0)
	}
}

// items are few enough that some images come out whole.
func (c chance) layers(t *testing.T) (tars [][]byte) {
	n := 0
	for range 2 + c.IntN(3) {
		var items []item
		for range c.IntN(7) {
			n++
			items = append(items, c.item(n))
		}
		tars = append(tars, tarball(t, items...))
	}
	return tars
}

// What umoci unpacks comes out the same, and what it refuses is refused.
func TestRandomLayersConformToUmoci(t *testing.T) {
	need(t, "umoci", "unsquashfs")
	whole := 0
	for seed := range uint64(seeds) {
		began := time.Now()
		tars := chance{rand.New(rand.NewPCG(seed, 7))}.layers(t)
		bundle := filepath.Join(t.TempDir(), "bundle")
		_, refused := exec.CommandContext(t.Context(), "umoci", "unpack", "--image", layout(t, tars...), bundle).CombinedOutput()
		c, _ := open(t)
		digests := build(t, c, tars...)
		out, err := os.Create(filepath.Join(t.TempDir(), "image"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = layer.Assemble(t.Context(), c, digests, nil, layer.Options{Time: epoch}, out)
		out.Close()
		if (err == nil) != (refused == nil) {
			t.Fatalf("seed %d: muster says %v, umoci %v", seed, err, refused)
		}
		if err != nil {
			continue
		}
		whole++
		same(t, fmt.Sprintf("seed %d", seed), unpacked(t, out.Name()), tree(t, filepath.Join(bundle, "rootfs")), began)
		if t.Failed() {
			t.FailNow()
		}
	}
	if whole < seeds/4 {
		t.Errorf("only %d of %d images came out whole", whole, seeds)
	}
}

const seeds = 30
