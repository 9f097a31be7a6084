package container

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Targets are resolved below the container's root: the image decides where its
// links lead, and must not lead out.

// makeDir makes a directory and those above it that are missing, and returns it open.
func (p *program) makeDir(root ref, target string, mode os.FileMode) ref {
	dir, at := root, ""
	names := components(target)
	for i, name := range names {
		m := os.FileMode(0o755)
		if i == len(names)-1 {
			m = mode
		}
		p.allow(p.call("make directory "+target, unix.SYS_MKDIRAT, dir, p.text(name), uintptr(m)))
		at += "/" + name
		dir = p.openIn(root, at, unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	if len(names) == 0 {
		return p.openIn(root, "/", unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	return dir
}

// makeFile makes an empty file unless its name exists, and opens the name with O_PATH.
func (p *program) makeFile(root ref, target string) ref {
	p.makeFileIn(root, target)
	return p.openIn(root, target, unix.O_PATH, 0)
}

func (p *program) makeFileIn(root ref, target string) {
	dir := p.makeDir(root, path.Dir(path.Clean("/"+target)), 0o755)
	p.allow(p.call("make "+target, unix.SYS_MKNODAT, dir, p.text(path.Base(target)), unix.S_IFREG|0o644, 0))
}

// putFile writes a file anew.
func (p *program) putFile(root ref, target string, content []byte) {
	p.makeFileIn(root, target)
	f := p.openIn(root, target, unix.O_WRONLY|unix.O_TRUNC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	p.write("write "+target, f, content)
	p.close(f)
}

// readFile reads up to max bytes of a file, if it is there.
func (p *program) readFile(root ref, target string, max int) reading {
	buf := p.space(max)
	f := p.allow(p.openIn(root, target, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0))
	n := p.allow(p.call("read "+target, unix.SYS_READ, f, address(buf), uintptr(max)))
	p.close(f)
	return reading{n: n, buf: buf, target: target}
}

// reading is a file that is read by a program.
type reading struct {
	n      ref
	buf    []byte
	target string
}

// content is what was read; found is false if there is no such file. A file that
// is larger than the room for it is an error.
func (r reading) content(results []result) (data []byte, found bool, err error) {
	n := at(results, r.n)
	if n.errno != 0 {
		return nil, false, nil
	}
	if n.value > len(r.buf)-1 {
		return nil, true, fmt.Errorf("%s of the image is larger than %d bytes", r.target, len(r.buf)-2)
	}
	return append([]byte(nil), r.buf[:n.value]...), true, nil
}

// stat asks for a file's type, mode and owner.
func (p *program) stat(f ref) []byte {
	buf := p.space(int(unsafe.Sizeof(unix.Statx_t{})))
	p.allow(p.call("look at a file", unix.SYS_STATX, f, p.text(""), unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, address(buf)))
	return buf
}

func statMode(buf []byte) uint16 { return (*unix.Statx_t)(unsafe.Pointer(&buf[0])).Mode }

func components(target string) []string {
	clean := strings.Trim(path.Clean("/"+target), "/")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "/")
}

// resolve follows the links of a target as far as they lead, and on through what
// does not exist. It returns a path without links.
func (r *remote) resolve(root int, target string) (string, error) {
	const maxLinks = 40
	rest, at := components(target), "/"
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		to, isLink, err := r.readlink(root, next)
		if err != nil {
			return "", err
		}
		if !isLink {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("open %s in the container: %w", target, unix.ELOOP)
		}
		if strings.HasPrefix(to, "/") {
			at = "/"
		}
		rest = append(linkComponents(to), rest...)
		for len(rest) > 0 && rest[0] == ".." {
			at, rest = path.Dir(at), rest[1:]
		}
	}
	return at, nil
}

// linkComponents keeps leading dots, which depend on where the link is.
func linkComponents(to string) []string {
	if strings.HasPrefix(to, "/") {
		return components(to)
	}
	clean := path.Clean(to)
	if clean == "." {
		return nil
	}
	return strings.Split(clean, "/")
}

func (r *remote) readlink(root int, target string) (to string, isLink bool, err error) {
	p := r.program()
	buf := p.space(unix.PathMax)
	f := p.allow(p.openIn(ref(root), target, unix.O_PATH|unix.O_NOFOLLOW, 0))
	n := p.allow(p.call("read link "+target, unix.SYS_READLINKAT, f, p.text(""), address(buf), unix.PathMax))
	p.close(f)
	results, err := r.do(p)
	if err != nil {
		return "", false, err
	}
	found := at(results, n)
	if found.errno != 0 {
		return "", false, nil
	}
	return string(buf[:found.value]), true, nil
}

// full explains what a full upper layer is.
func full(err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return withHint(err, "what a container writes is kept in memory: give it more with --upper-size")
	}
	return err
}
