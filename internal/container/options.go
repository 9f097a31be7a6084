package container

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// Mount is something that is shown in a container, as --mounts has it.
type Mount struct {
	// Source is a path, "tmpfs" or "umount".
	Source string
	// Target is a path in the container.
	Target string
	// Flags are options as of mount(8) and fstab(5) for Enroot.
	Flags []string
}

func (m Mount) String() string { return m.Source + ":" + m.Target }

func (m Mount) bind() bool { return m.Source != "tmpfs" && m.Source != "umount" }

// ParseMounts reads SRC[:DST[:FLAGS]],... with flags joined by +. Repetitions
// count once.
func ParseMounts(list string) ([]Mount, error) {
	if list == "" {
		return nil, errors.New("--mounts: argument required")
	}
	var all []Mount
	for text := range strings.SplitSeq(list, ",") {
		m, err := parseMount(text)
		if err != nil {
			return nil, err
		}
		all = AddMount(all, m)
	}
	return all, nil
}

// AddMount appends a mount unless it is there.
func AddMount(all []Mount, m Mount) []Mount {
	if slices.ContainsFunc(all, func(o Mount) bool {
		return o.Source == m.Source && o.Target == m.Target && slices.Equal(o.Flags, m.Flags)
	}) {
		return all
	}
	return append(all, m)
}

func parseMount(text string) (Mount, error) {
	source, rest, hasTarget := strings.Cut(text, ":")
	target, flags, _ := strings.Cut(rest, ":")
	if !hasTarget {
		target = source
	}
	if source == "" || target == "" {
		return Mount{}, fmt.Errorf("--mounts: invalid format: %s", text)
	}
	m := Mount{Source: source, Target: target}
	if flags != "" {
		m.Flags = strings.FieldsFunc(flags, func(r rune) bool { return r == '+' || r == ',' })
	}
	if m.bind() && !IsPath(source) {
		return Mount{}, fmt.Errorf(`--mounts: %s: mount source must be a relative path, an absolute path, "tmpfs" or "umount"`, text)
	}
	if !IsPath(target) {
		return Mount{}, fmt.Errorf("--mounts: %s: mount target must be a relative path or an absolute path", text)
	}
	if !strings.HasPrefix(target, "/") && leavesRoot(target) {
		return Mount{}, fmt.Errorf("--mounts: %s: mount target leads out of the container: %w", text, &callError{what: "open " + target, errno: unix.EXDEV})
	}
	if _, err := m.plan(); err != nil {
		return Mount{}, fmt.Errorf("--mounts: %s: %w", text, err)
	}
	return m, nil
}

// leavesRoot tells whether .. in a relative path leads above its beginning.
func leavesRoot(target string) bool {
	depth := 0
	for name := range strings.SplitSeq(target, "/") {
		switch name {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// IsPath tells a path from a word: an image's from the name of where it is to be had.
func IsPath(s string) bool { return strings.HasPrefix(s, "/") || strings.HasPrefix(s, ".") }

// Name is the name of a container that outlives a command, and how it is meant.
type Name struct {
	Name string
	Flag NameFlag
	// Job is the job whose name it is; empty is the user's own.
	Job string
}

// NameFlag says what to do about a container that exists already.
type NameFlag string

// The flags of --name.
const (
	NameAuto   NameFlag = "auto"    // join it if it runs, use it if it is there, make it otherwise
	NameCreate NameFlag = "create"  // fail if it is there
	NameExec   NameFlag = "exec"    // fail unless it runs
	NameNoExec NameFlag = "no_exec" // never join it
)

// ParseName reads NAME[:FLAG].
func ParseName(text string) (Name, error) {
	if text == "" {
		return Name{}, errors.New("--name: argument required")
	}
	name, flag, _ := strings.Cut(text, ":")
	n := Name{Name: name, Flag: cmp.Or(NameFlag(flag), NameAuto)}
	switch n.Flag {
	case NameAuto, NameCreate, NameExec, NameNoExec:
	default:
		return Name{}, errors.New(`--name: flag must be "auto", "create", "exec" or "no_exec"`)
	}
	switch {
	case name == "":
		return Name{}, errors.New("--name: empty name")
	case strings.ContainsFunc(name, unicode.IsControl):
		return Name{}, fmt.Errorf("--name: %q: a name has no control characters, such as line ends", name)
	case strings.ContainsAny(name, "/\x00") || strings.HasPrefix(name, ".") || len(name) > 128:
		return Name{}, fmt.Errorf("--name: %q: a name has no slash, does not begin with a dot and has at most 128 bytes", name)
	}
	return n, nil
}

// ParseUnshare reads a list of net, ipc and uts.
func ParseUnshare(list string) (Unshare, error) {
	var u Unshare
	if list == "" {
		return u, errors.New("--unshare: argument required")
	}
	for word := range strings.SplitSeq(list, ",") {
		switch word {
		case "net":
			u.Net = true
		case "ipc":
			u.IPC = true
		case "uts":
			u.UTS = true
		case "":
			return u, errors.New("--unshare: empty namespace argument")
		default:
			return u, fmt.Errorf("--unshare: unknown namespace '%s'", word)
		}
	}
	return u, nil
}

// ParseKeep reads a list of variables' names.
func ParseKeep(list string) ([]string, error) {
	if list == "" {
		return nil, errors.New("--env: argument required")
	}
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		if name == "" || strings.Contains(name, "=") {
			return nil, fmt.Errorf("--env: invalid format: %s", list)
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// CheckSave refuses paths that --save cannot write to.
func CheckSave(path string) error {
	switch {
	case path == "":
		return errors.New("--save: argument required")
	case strings.HasSuffix(path, "/"):
		return errors.New("--save: target is a directory")
	}
	return nil
}
