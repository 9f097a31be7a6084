package spec

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// maxBytes is the size of the largest file that is read. ParallelCluster's own
// limits (50 queues, 50 compute resources) need less than a tenth.
const maxBytes = 4 << 20

// Read reads a file that a user named, once and from its beginning, so that it can
// be a pipe. Of a file that is too large it is a part that is too large, too. What
// is wrong goes to the list.
func Read(path string, list *diag.List) ([]byte, bool) {
	at := diag.Place{File: path}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		list.Errorf("file/missing", "", "there is no such file").At(at).WithHint("%s", missingHint(path))
		return nil, false
	case err != nil:
		list.Errorf("file/read", "", "the file cannot be read: %v", cause(err)).At(at)
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		list.Errorf("file/directory", "", "this is a directory, not a file").At(at).
			WithHint("give the file in it, for example %s", filepath.Join(path, "cluster.yaml"))
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		list.Errorf("file/read", "", "the file cannot be read: %v", cause(err)).At(at)
		return nil, false
	}
	return data, true
}

// cause is a file error without the path, which the place has already.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// missingHint says where a link leads, or names the file that was probably meant: standard input, one beside
// it with another ending, or the YAML files there.
func missingHint(path string) string {
	if path == "-" {
		return "standard input is /dev/stdin here; a cluster of it wants --cluster NAME"
	}
	if target, err := os.Readlink(path); err == nil {
		return "it is a link to " + target + ", which is not there"
	}
	dir := filepath.Dir(path)
	var names []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		found, _ := filepath.Glob(filepath.Join(globEscape(dir), pattern))
		for _, f := range found {
			names = append(names, filepath.Base(f))
		}
	}
	if near := diag.Nearest(filepath.Base(path), names); near != "" {
		return "did you mean " + filepath.Join(dir, near) + "?"
	}
	if _, err := os.Stat(dir); err != nil {
		return "the directory " + dir + " does not exist, either"
	}
	return "check the name and the directory"
}

var globMeta = pattern.New(`[*?\[\\]`)

func globEscape(path string) string { return globMeta().ReplaceAllString(path, `\$0`) }

// checkText looks at a file's bytes before they are parsed. It gives them back
// without a byte order mark, and false if parsing makes no sense.
func checkText(name string, data []byte, list *diag.List) ([]byte, bool) {
	at := diag.Place{File: name}
	if len(data) > maxBytes {
		list.Errorf("file/size", "", "the file has more than %d MiB", maxBytes>>20).At(at).
			WithHint("a cluster file has a few kilobytes; is this the right file?")
		return nil, false
	}
	if wideText(data) {
		list.Errorf("file/encoding", "", "the file is UTF-16, not UTF-8").At(at).
			WithHint("convert it: iconv -f UTF-16 -t UTF-8")
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := lines{name: name, data: data}
	if i, what := firstBad(data); i >= 0 {
		list.Errorf("file/encoding", "", "%s", what).At(text.atByte(i)).
			WithHint("save the file as plain UTF-8 text")
		return nil, false
	}
	if offset := iniHead(data); offset >= 0 {
		list.Errorf("file/version", "", "this is a ParallelCluster 2 file").At(text.atByte(offset)).
			WithHint("convert it: pcluster3-config-converter --config-file %s --output-file new.yaml", name)
		return nil, false
	}
	return data, true
}

// wideText reports whether a text is UTF-16, with its mark or, as its beginning tells,
// without: in most pairs of bytes the same one is NUL. A NUL here and there is none.
func wideText(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return true
	}
	pairs := min(len(data), maxHead) / 2
	nuls := [2]int{}
	for i, b := range data[:2*pairs] {
		if b == 0 {
			nuls[i%2]++
		}
	}
	most, least := max(nuls[0], nuls[1]), min(nuls[0], nuls[1])
	return pairs > 1 && 2*most > pairs && least == 0
}

// iniSection is a section's head in a ParallelCluster 2 file, on a line of its
// own. A YAML cluster file can have no such line at its left edge.
var iniSection = pattern.New(`^\[(global|aws|aliases|cluster|vpc|queue|compute_resource|ebs|efs|fsx|raid|scaling|dcv|cw_log|dashboard|cluster_config)([ \t]+[^\]\n]*)?\][ \t]*\r?(?:\n|$)`)

// iniHead finds a section's head of ParallelCluster 2; -1 is none.
func iniHead(data []byte) int {
	for at := 0; at < len(data); {
		if data[at] == '[' && iniSection().Match(data[at:min(len(data), at+maxHead)]) {
			return at
		}
		next := bytes.IndexByte(data[at:], '\n')
		if next < 0 {
			return -1
		}
		at += next + 1
	}
	return -1
}

// maxHead is more than a section's head has, and enough of a text to tell its encoding.
const maxHead = 256

// firstBad finds the first byte that cannot be in a YAML file; -1 is none.
func firstBad(data []byte) (int, string) {
	for i := 0; i < len(data); {
		b := data[i]
		if b == 0 {
			return i, "there is a NUL byte in the file"
		}
		if b < utf8.RuneSelf {
			if b < ' ' && b != '\t' && b != '\n' && b != '\r' || b == 0x7f {
				return i, "there is a control character in the file"
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i, "the file is not UTF-8 text"
		}
		if r >= 0x80 && r < 0xa0 && r != 0x85 {
			return i, "there is a control character in the file"
		}
		i += size
	}
	return -1, ""
}
