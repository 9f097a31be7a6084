package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// judgeManifest: a manifest.json that lists the files, as the example program of muster writes it, and others. One without sizes may have been
// written before them: it does not say that they are whole.
func (p *part) judgeManifest() {
	sizes := manifestSizes(p.begin("manifest.json"))
	if len(sizes) == 0 {
		return
	}
	sized := true
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		sized = sized && sizes[name] != unsized
		switch f, ok := p.file(name); {
		case !ok:
			p.torn = first(p.torn, fmt.Sprintf("%s, which manifest.json names, is not there", name))
		case sizes[name] == unsized:
		case f.SizeBytes != sizes[name]:
			p.torn = first(p.torn, fmt.Sprintf("%s has %d bytes, and manifest.json says %d", name, f.SizeBytes, sizes[name]))
		default:
			p.checked = append(p.checked, name)
		}
	}
	p.layout = first(p.layout, "files with a manifest")
	if sized {
		p.seals = append(p.seals, "manifest.json")
	}
}

// unsized is the size of a file of which a manifest has the name alone.
const unsized = -1

// manifestSizes are the files that a manifest lists under "files", with their sizes: an object by name, with numbers or objects that
// have one, or a list of names or of objects with one. Names that lead out of the directory are left out, and what is no part of a
// checkpoint, as logs. It is nil if all of it is not of these forms.
func manifestSizes(text []byte) map[string]int64 {
	var manifest struct{ Files any }
	from := json.NewDecoder(bytes.NewReader(text))
	from.UseNumber()
	if from.Decode(&manifest) != nil || from.More() {
		return nil
	}
	sizes, understood := map[string]int64{}, true
	take := func(name string, size int64, ok bool) {
		understood = understood && ok && name != ""
		if name = path.Clean(name); inside(name) && name != "manifest.json" && Part(name) {
			sizes[name] = size
		}
	}
	switch files := manifest.Files.(type) {
	case map[string]any:
		for name, entry := range files {
			size, ok := manifestSize(entry)
			take(name, size, ok && size != unsized)
		}
	case []any:
		for _, entry := range files {
			size, ok := manifestSize(entry)
			take(manifestName(entry), size, ok)
		}
	}
	if !understood {
		return nil
	}
	return sizes
}

// inside reports whether a path, in its shortest form, leads to something below the directory that it begins in.
func inside(p string) bool {
	return p != "." && p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(p)
}

// manifestName is the name in an entry of a list, "" if there is none.
func manifestName(entry any) string {
	if name, ok := entry.(string); ok {
		return name
	}
	fields, _ := entry.(map[string]any)
	for _, key := range []string{"name", "path", "file", "filename"} {
		if name, ok := fields[key].(string); ok {
			return name
		}
	}
	return ""
}

// manifestSize is the size in an entry, and whether there is none that is not understood.
func manifestSize(entry any) (int64, bool) {
	switch e := entry.(type) {
	case json.Number:
		n, err := e.Int64()
		return n, err == nil && n >= 0
	case string:
		return unsized, true
	case map[string]any:
		for _, key := range []string{"bytes", "size", "length"} {
			if size, there := e[key]; there {
				n, ok := size.(json.Number)
				if !ok {
					return 0, false
				}
				return manifestSize(n)
			}
		}
		return unsized, true
	}
	return 0, false
}
