package export

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// temporary says that a file is not meant to stay, growing that programs append to it, and pointerName that it may name
// the newest of its siblings.
func temporary(p string) bool   { return checkpoint.Temporary(p) }
func growing(p string) bool     { return checkpoint.Log(p) }
func pointerName(p string) bool { return checkpoint.Pointer(p) }

// alwaysPointer says that a file is a pointer whatever it holds: DeepSpeed's and ours, and Megatron's.
func alwaysPointer(p string) bool {
	name := path.Base(p)
	return name == "latest" || name == "latest_checkpointed_iteration.txt"
}

// below says that p is in the directory dir, at any depth.
func below(p, dir string) bool {
	return dir == "." || strings.HasPrefix(p, dir+"/")
}

// longestKey is S3's limit for a key, in bytes.
const longestKey = 1024

// noKey says why S3 has no such key: a key is a text in UTF-8 of up to 1,024 bytes
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html), a file's name may be any bytes.
func noKey(key string) string {
	if !utf8.ValidString(key) {
		return "its name is not UTF-8, as the keys of S3 have to be"
	}
	if len(key) > longestKey {
		return fmt.Sprintf("its key would have %d bytes, and S3 takes %d", len(key), longestKey)
	}
	return ""
}
