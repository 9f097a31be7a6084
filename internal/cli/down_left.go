package cli

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/page"
	"github.com/muster-hpc/muster/internal/status"
)

// unexported is what a local cluster left behind that is not in its buckets.
type unexported struct {
	// Why says why nobody waited for it.
	Why string `json:"why"`
	// Unknown says that nobody could be asked, or look: it may be anything.
	Unknown   bool             `json:"unknown,omitempty"`
	Files     int              `json:"files"`
	SizeBytes int64            `json:"size_bytes"`
	Blocked   int              `json:"blocked,omitempty"` // of the files: no `muster up` exports them as they are
	First     []unexportedFile `json:"first"`             // of the files
	// Dir is the folder of the shared file systems, where they are.
	Dir string `json:"dir"`
}

// unexportedFile is a file as the cluster's machines saw it.
type unexportedFile struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	Reason    string `json:"reason"`
	Blocked   bool   `json:"blocked,omitempty"`
}

// showUnexported says what is not in the buckets, also to those who want no
// progress, and that this is worth a look.
func (a *app) showUnexported(u *unexported) error {
	if u == nil {
		return nil
	}
	switch {
	case u.Unknown && u.Files > 0:
		fmt.Fprintf(a.err, "muster: at least %s not in the buckets, %s: %s\n", count.Are(u.Files, "file"), count.Bytes(u.SizeBytes), page.Printable(u.Why))
	case u.Unknown:
		fmt.Fprintf(a.err, "muster: %s: %s\n", status.NobodyKnows, page.Printable(u.Why))
	default:
		fmt.Fprintf(a.err, "muster: %s not in the buckets, %s: %s\n", count.Are(u.Files, "file"), count.Bytes(u.SizeBytes), page.Printable(u.Why))
	}
	for _, f := range u.First {
		fmt.Fprintf(a.err, "  %s\n", f.line())
	}
	if more := u.Files - len(u.First); more > 0 {
		fmt.Fprintf(a.err, "  and %d more\n", more)
	}
	fmt.Fprintf(a.err, "the data stays in %s, and %s\n", page.Printable(u.Dir), u.outlook())
	return fault.Exit(fault.ExitLook)
}

// outlook is what becomes of the files.
func (u *unexported) outlook() string {
	const next = "the next `muster up` of this cluster exports "
	switch {
	case u.Blocked == 0:
		return next + "it"
	case u.Blocked < u.Files || u.Unknown:
		return next + "what can be exported; as things are, " + count.Of(u.Blocked, "file") + " cannot"
	}
	return "no `muster up` of this cluster exports it as things are"
}

func (f unexportedFile) line() string {
	text := page.Printable(f.Path)
	if !f.Blocked || f.SizeBytes > 0 { // of a directory or a pipe nobody knows how much it is
		text += ", " + count.Bytes(f.SizeBytes)
	}
	if f.Blocked {
		text += ", cannot be exported"
	}
	return text + ": " + page.Printable(f.Reason)
}
