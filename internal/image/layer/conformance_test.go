package layer_test

import (
	"archive/tar"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// layout writes an OCI image layout of gzip layers, and returns what umoci
// calls the image.
func layout(t *testing.T, tars ...[]byte) string {
	t.Helper()
	top := filepath.Join(t.TempDir(), "layout")
	blobs := filepath.Join(top, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(path string, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	put := func(mediaType string, data []byte) object {
		d := digest(data)
		write(filepath.Join(blobs, strings.TrimPrefix(d, "sha256:")), data)
		return object{"mediaType": mediaType, "digest": d, "size": len(data)}
	}
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var layers, diffIDs []any
	for _, data := range tars {
		layers = append(layers, put("application/vnd.oci.image.layer.v1.tar+gzip", zipped(data)))
		diffIDs = append(diffIDs, digest(data))
	}
	config := put("application/vnd.oci.image.config.v1+json", encode(object{
		"architecture": "amd64", "os": "linux", "config": object{},
		"rootfs": object{"type": "layers", "diff_ids": diffIDs},
	}))
	manifest := put("application/vnd.oci.image.manifest.v1+json", encode(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": layers,
	}))
	manifest["annotations"] = object{"org.opencontainers.image.ref.name": "t"}
	write(filepath.Join(top, "index.json"), encode(object{"schemaVersion": 2, "manifests": []any{manifest}}))
	write(filepath.Join(top, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`))
	return top + ":t"
}

// conform makes an image and holds what all readers see of it to what umoci
// unpacks.
func conform(t *testing.T, tars ...[]byte) {
	t.Helper()
	began := time.Now()
	bundle := filepath.Join(t.TempDir(), "bundle")
	command(t, "umoci", "unpack", "--image", layout(t, tars...), bundle)
	want := tree(t, filepath.Join(bundle, "rootfs"))
	path, _ := image(t, tars...)
	same(t, "unsquashfs", unpacked(t, path), want, began)
	same(t, "kernel", mounted(t, path), want, began)
	same(t, "squashfuse", fused(t, path), plain(want), began)
}

// big is content that compresses to about half, different for each seed.
func big(seed uint64, size int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(4)))
		b.WriteByte(byte(r.Uint32()))
	}
	return b.String()[:size]
}

func TestConformsToUmoci(t *testing.T) {
	need(t, "umoci", "unsquashfs", "squashfuse_ll", "mount")
	const block = 128 << 10
	table := map[string][][]item{
		"empty_layer":       {{}},
		"described_root":    {{dir(".").mode(0o711).owned(1, 2).at(123456789), file("a", "a")}},
		"undescribed_root":  {{file("a", "a")}},
		"all_types":         {allTypes()},
		"modes_and_owners":  {{file("s", "x").mode(0o6755).owned(70000, 4_000_000_000), dir("sticky").mode(0o1777), file("none", "").mode(0)}},
		"times":             {{file("zero", "").at(0), file("late", "").at(4_294_967_295), dir("d").at(1), symlink("l", "x").at(12345)}},
		"sizes":             {sizes(block)},
		"zeros":             {{file("zeros", string(make([]byte, 5*block+17))), file("some", string(make([]byte, 3*block))+"end"), file("short", string(make([]byte, 100)))}},
		"names":             {names()},
		"large_directory":   {many("big", 3000)},
		"hard_links":        {{file("a", "content"), hardlink("b", "a"), hardlink("d/c", "./b"), symlink("s", "a"), hardlink("t", "s"), device("p", tar.TypeFifo, 0, 0), hardlink("q", "/p")}},
		"links_below":       {{file("a", "content"), file("keep", "k")}, {hardlink("b", "a")}, {file("a", "other")}, {hardlink("c", "b"), whiteout("a")}},
		"link_replaced":     {{file("a", "content"), hardlink("b", "a")}, {file("b", "new")}, {whiteout("a")}},
		"link_in_the_way":   {{file("a", "1"), file("b", "2")}, {hardlink("b", "a")}, {hardlink("a", "b").with(func(i *item) { i.Name = "c" })}},
		"whiteouts":         {{dir("d"), file("d/a", "a"), file("d/b", "b"), dir("e"), file("e/x", "x")}, {whiteout("d/a"), whiteout("e"), whiteout("nothing"), whiteout("no/where")}},
		"whiteout_of_link":  {{dir("d"), file("d/a", "a"), symlink("l", "d")}, {whiteout("l/a"), file("l/b", "b")}, {whiteout("l")}},
		"late_whiteout":     {{dir("d"), file("d/a", "a"), file("d/b", "b")}, {file("d/a", "new"), whiteout("d"), file("x", "x")}},
		"opaque":            {{dir("d"), dir("d/s"), file("d/s/x", "x"), file("d/a", "a")}, {dir("d").mode(0o700), opaque("d"), file("d/n", "n")}},
		"late_opaque":       {{dir("d"), dir("d/s"), file("d/s/x", "x"), file("d/a", "a")}, {file("d/s/n", "n"), opaque("d")}},
		"opaque_elsewhere":  {{file("f", "f")}, {opaque("none"), opaque("f")}},
		"opaque_root":       {{file("f", "f"), dir("d"), file("d/g", "g")}, {file(".wh..wh..opq", ""), file("n", "n")}},
		"file_to_dir":       {{file("x", "x"), file("y", "y")}, {dir("x"), file("x/in", "in")}, {file("y", "longer")}},
		"dir_to_file":       {{dir("x"), dir("x/y"), file("x/y/z", "z")}, {file("x", "now a file")}},
		"dir_to_symlink":    {{dir("x"), file("x/z", "z"), dir("y")}, {symlink("x", "y")}, {file("x/in", "through")}},
		"symlink_to_dir":    {{dir("y"), symlink("x", "y"), file("y/f", "f")}, {dir("x"), file("x/in", "in")}},
		"symlink_to_file":   {{symlink("x", "/etc/passwd")}, {file("x", "file")}},
		"below_symlinks":    {{dir("usr"), dir("usr/lib"), symlink("lib", "usr/lib"), symlink("abs", "/usr"), symlink("up", "../../../usr"), symlink("loop1/../z", "usr")}, {file("lib/a", "a"), file("abs/b", "b"), file("up/c", "c"), file("abs/lib/d", "d"), file("up/lib/../lib/e", "e")}},
		"below_dangling":    {{symlink("l", "no/such/../dir"), file("l/f", "f"), symlink("m", "../../out"), file("m/g", "g")}},
		"missing_parents":   {{file("a/b/c/d", "d"), dir("a/b").mode(0o750).owned(5, 6)}, {file("a/b/new/e", "e")}},
		"strange_paths":     {{file("/abs/x", "x"), file("./dot//y", "y"), file("p/../q/z", "z"), dir("/"), dir("p/q/.."), hardlink("/h", "/abs/x")}},
		"repeated":          {{file("a", "1"), file("a", "22"), dir("d").mode(0o700), file("d/x", "x"), dir("d").mode(0o755), symlink("a2", "a"), file("a2", "z")}},
		"whiteout_as_dir":   {{dir("d"), file("d/x", "x")}, {entry(".wh.d/", tar.TypeDir, 0o755)}},
		"directory_again":   {{dir("d").xattr("user.a", "1").at(5), file("d/x", "x")}, {dir("d").xattr("user.b", "2").at(6)}, {file("d/y", "y")}},
		"attributes":        {attributes()},
		"attributes_change": {{file("a", "a").xattr("user.x", "1")}, {file("a", "a")}, {file("b", "b").xattr("trusted.overlay.opaque", "y").xattr("security.selinux", "l").xattr("trusted.keep", "k")}},
		"devices":           {{device("null", tar.TypeChar, 1, 3), device("sda", tar.TypeBlock, 8, 0), device("far", tar.TypeBlock, 4095, 1048575), device("wh", tar.TypeChar, 0, 0)}, {device("null", tar.TypeBlock, 7, 300)}},
		"duplicates":        {{file("a", big(1, 3*block+5)), file("b", big(1, 3*block+5)), file("c", "same"), file("d", "same")}, {file("e", big(1, 3*block+5)), file("f", "same"), whiteout("a"), whiteout("c")}},
	}
	for name, layers := range table {
		t.Run(name, func(t *testing.T) {
			var tars [][]byte
			for _, items := range layers {
				tars = append(tars, tarball(t, items...))
			}
			conform(t, tars...)
		})
	}
}

func allTypes() []item {
	return []item{
		dir("d"), file("d/f", "text"), symlink("d/l", "f"), hardlink("d/h", "d/f"),
		device("d/c", tar.TypeChar, 1, 5), device("d/b", tar.TypeBlock, 7, 1), device("d/p", tar.TypeFifo, 0, 0), dir("d/empty"),
	}
}

func sizes(block int) (items []item) {
	for i, size := range []int{0, 1, block - 1, block, block + 1, 2*block - 1, 2 * block, 7*block + 12345} {
		items = append(items, file("f"+string(rune('a'+i)), big(uint64(i), size)))
	}
	return items
}

func names() []item {
	long := strings.Repeat("n", 255)
	return []item{
		file("\xff\xfe not utf-8 \x80", "x"), file("new\nline", "x"), file(" space ", "x"), file("ünï", "x"), file("back\\slash", "x"),
		dir(long), file(long+"/"+long, "x"), symlink("s", "\xff\x01"), symlink("long", strings.Repeat("t", 4095)), file("d/.wh", "x"), file("d/wh.x", "y"),
	}
}

func many(top string, n int) (items []item) {
	items = append(items, dir(top))
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		name := top + "/" + strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(60)) + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26)))
		items = append(items, file(name, name[:r.IntN(len(name))]))
		if r.IntN(20) == 0 {
			items = append(items, file(name+".d/x", "x"))
		}
	}
	return items
}

func attributes() []item {
	capability := "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	return []item{
		file("cap", "x").xattr("security.capability", capability), file("user", "x").xattr("user.comment", "hello\x00\xff").xattr("user.empty", ""),
		file("same", "y").xattr("user.comment", "hello\x00\xff").xattr("user.empty", ""), dir("d").xattr("user.dir", strings.Repeat("v", 3000)).xattr("trusted.t", "1"),
		symlink("l", "cap").xattr("trusted.l", "2"), device("dev", tar.TypeChar, 1, 3).xattr("trusted.d", "3"), device("p", tar.TypeFifo, 0, 0).xattr("trusted.p", "4"),
		file("none", "z"), file("other", "z").xattr("foreign.name", "dropped"),
	}
}

// TestNoOverlaysAttributes: what an overlay wrote into a layer is not in the image, over
// which another one is mounted.
func TestNoOverlaysAttributes(t *testing.T) {
	need(t, "unsquashfs")
	path, _ := image(t, tarball(t, file("a", "a").xattr("user.overlay.metacopy", "y").xattr("user.overlay.redirect", "/x").xattr("trusted.overlay.opaque", "y").xattr("user.keep", "k")))
	if got := unpacked(t, path)["a"]; strings.Contains(got, "overlay") || !strings.Contains(got, "user.keep") {
		t.Errorf("got %s", got)
	}
}
