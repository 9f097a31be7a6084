package cli

import (
	"errors"
	"fmt"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/status"
)

// showLeft lists what a cluster leaves behind. What costs is worth a look.
func (a *app) showLeft(left []place.Left) error {
	code := error(nil)
	for _, l := range left {
		if l.Costs() {
			code = fault.Exit(fault.ExitLook)
		}
	}
	if a.output == "json" || len(left) == 0 {
		return code
	}
	return errors.Join(leftTable(left).Write(a.out), code)
}

// leftTable has what costs, and the number of what does not.
func leftTable(left []place.Left) page.Table {
	var t page.Table
	free := 0
	for _, l := range left {
		if l.Free && l.Known {
			free++
			continue
		}
		price := "price unknown"
		if l.Known {
			price = fmt.Sprintf("$%.2f a month", l.USDPerMonth)
		}
		why := "left behind"
		if l.Kept {
			why = "kept: " + l.Why
		}
		t.Add(l.Kind, l.ID, l.What, price, why)
	}
	if free > 0 {
		t.Add(fmt.Sprintf("and %s of no cost", count.Of(free, "thing")))
	}
	return t
}

// showUnexported lists files that are not in the buckets, even with --quiet. The
// exit code says that this is worth a look.
func (a *app) showUnexported(u *place.Unexported) error {
	if u == nil {
		return nil
	}
	switch {
	case u.Unknown && u.Files > 0:
		fmt.Fprintf(a.err, "muster: at least %s not in the buckets, %s: %s\n", count.Are(u.Files, "file"), count.Bytes(u.SizeBytes), page.Printable(u.Why))
	case u.Unknown:
		fmt.Fprintf(a.err, "muster: %s: %s\n", status.ExportsUnknown, page.Printable(u.Why))
	default:
		fmt.Fprintf(a.err, "muster: %s not in the buckets, %s: %s\n", count.Are(u.Files, "file"), count.Bytes(u.SizeBytes), page.Printable(u.Why))
	}
	for _, f := range u.First {
		fmt.Fprintf(a.err, "  %s\n", unexportedLine(f))
	}
	if more := u.Files - len(u.First); more > 0 {
		fmt.Fprintf(a.err, "  and %d more\n", more)
	}
	fmt.Fprintf(a.err, "the data stays in %s, and %s\n", page.Printable(u.Dir), outlook(u))
	return fault.Exit(fault.ExitLook)
}

// outlook is what becomes of the files.
func outlook(u *place.Unexported) string {
	const next = "the next `muster up` of this cluster exports "
	switch {
	case u.Blocked == 0:
		return next + "it"
	case u.Blocked < u.Files || u.Unknown:
		return next + "what can be exported; as things are, " + count.Of(u.Blocked, "file") + " cannot"
	}
	return "no `muster up` of this cluster exports it as things are"
}

func unexportedLine(f place.UnexportedFile) string {
	text := page.Printable(f.Path)
	if !f.Blocked || f.SizeBytes > 0 { // a blocked directory or pipe has no size
		text += ", " + count.Bytes(f.SizeBytes)
	}
	if f.Blocked {
		text += ", cannot be exported"
	}
	return text + ": " + page.Printable(f.Reason)
}
