package image

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/image/layer"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

// enrootFiles are the files by which Enroot and Pyxis know an image's environment,
// volumes and command. All else in an image is as its layers have it.
func enrootFiles(m Meta) []layer.File {
	file := func(name, text string) layer.File {
		return layer.File{Name: name, Mode: 0o644, ModTime: m.Created, Data: []byte(text)}
	}
	rc := file("etc/rc", enrootRC(m))
	rc.Mode = fs.FileMode(0o755)
	return []layer.File{rc, file("etc/environment", enrootEnvironment(m)), file("etc/fstab", enrootFstab(m))}
}

// oneLine keeps a value of the image from becoming further lines.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ", "\x00", "")

func enrootEnvironment(m Meta) string {
	var b strings.Builder
	for _, e := range m.Env {
		b.WriteString(oneLine.Replace(e) + "\n")
	}
	return b.String()
}

// enrootFstab binds the image's volumes to themselves, which makes them writable.
func enrootFstab(m Meta) string {
	escape := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)
	var b strings.Builder
	for _, v := range m.Volumes {
		v = escape.Replace(v)
		fmt.Fprintf(&b, "${ENROOT_ROOTFS}%s %s none x-create=dir,bind,rw,nosuid,nodev\n", v, v)
	}
	return b.String()
}

// enrootRC is the script that starts a container: it goes to the image's working
// directory and runs its entrypoint with the arguments, or else with its command.
func enrootRC(m Meta) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# enroot-provenance: %s\n", oneLine.Replace(m.Source))
	for _, k := range slices.Sorted(maps.Keys(m.Labels)) {
		fmt.Fprintf(&b, "# %s %s\n", oneLine.Replace(k), oneLine.Replace(m.Labels[k]))
	}
	dir := m.Workdir
	if dir == "" {
		dir = "/"
	}
	entrypoint, cmd := quoted(m.Entrypoint), quoted(m.Cmd)
	if entrypoint == "" && cmd == "" {
		cmd = " /bin/sh"
	}
	fmt.Fprintf(&b, "\nmkdir -p %[1]s 2>/dev/null\ncd %[1]s || exit 1\nunset OLDPWD\n", shell.Quote(dir))
	b.WriteString("\nif [ -s /etc/rc.local ]; then . /etc/rc.local; fi\n")
	fmt.Fprintf(&b, "\nif [ $# -gt 0 ]; then exec%s \"$@\"; fi\nexec%s%s\n", entrypoint, entrypoint, cmd)
	return b.String()
}

func quoted(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(" " + shell.Quote(w))
	}
	return b.String()
}
