package cli

import (
	"fmt"
)

// unexported is what a local cluster left behind that is not in its buckets.
type unexported struct {
	// Why says why nobody waited for it.
	Why string `json:"why"`
	// Unknown says that nobody could be asked, or look: it may be anything.
	Unknown   bool             `json:"unknown,omitempty"`
	Files     int              `json:"files"`
	SizeBytes int64            `json:"size_bytes"`
	First     []unexportedFile `json:"first"` // of the files
	// Dir is the folder of the shared file systems, where they are.
	Dir string `json:"dir"`
}

// unexportedFile is a file as the cluster's machines saw it.
type unexportedFile struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	Reason    string `json:"reason"`
}

// showUnexported says what is not in the buckets, also to those who want no
// progress, and that this is worth a look.
func (a *app) showUnexported(u *unexported) error {
	if u == nil {
		return nil
	}
	switch {
	case u.Unknown && u.Files > 0:
		fmt.Fprintf(a.err, "muster: at least %s not in the buckets, %s: %s\n", are(u.Files, "file"), byteSize(u.SizeBytes), printable(u.Why))
	case u.Unknown:
		fmt.Fprintf(a.err, "muster: nobody knows what is not in the buckets yet: %s\n", printable(u.Why))
	default:
		fmt.Fprintf(a.err, "muster: %s not in the buckets, %s: %s\n", are(u.Files, "file"), byteSize(u.SizeBytes), printable(u.Why))
	}
	for _, f := range u.First {
		fmt.Fprintf(a.err, "  %s, %s: %s\n", printable(f.Path), byteSize(f.SizeBytes), printable(f.Reason))
	}
	if more := u.Files - len(u.First); more > 0 {
		fmt.Fprintf(a.err, "  and %d more\n", more)
	}
	fmt.Fprintf(a.err, "the data stays in %s, and the next `muster up` of this cluster exports it\n", printable(u.Dir))
	return exitCode(exitLook)
}

func are(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return count(n, noun) + " are"
}
