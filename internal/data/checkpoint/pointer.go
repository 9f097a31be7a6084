package checkpoint

import (
	"fmt"
	"path"
	"strings"
)

// Names reports whether the text of a pointer names the checkpoint dir beside it: by its name, by a path that ends in it, or by
// its step alone, as the tracker file of Megatron-LM does.
func Names(text, dir string) bool {
	base := path.Base(dir)
	return path.Base(text) == base || strings.HasPrefix(base, "iter_") && text == fmt.Sprint(Step(base))
}

// NamesLater reports whether the text of a pointer names a checkpoint of the run of dir that is later than dir.
func NamesLater(text, dir string) bool {
	at := Step(dir)
	return at != NoStep && Step(text) > at && alike(text, dir)
}

// MayName reports whether the text of a pointer is of the form by which checkpoints like dir are named, there or not.
func MayName(text, dir string) bool {
	return ByStep(text, dir) || Step(text) != NoStep && alike(text, dir)
}

// ByStep reports whether the text of a pointer names checkpoints like dir by their step alone.
func ByStep(text, dir string) bool {
	return strings.HasPrefix(path.Base(dir), "iter_") && isNumber(text)
}

// alike reports whether a text that is a number can be the name of one like dir: other numbers in files called latest count
// something else.
func alike(text, dir string) bool {
	text, dir = path.Base(text), path.Base(dir)
	switch {
	case !isNumber(text):
		return true
	case !isNumber(dir):
		return false
	}
	return len(text) == len(dir) || text[0] != '0' && dir[0] != '0'
}
