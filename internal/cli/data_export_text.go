package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/status"
)

// write writes the answer for people.
func (s exportsAnswer) write(w io.Writer, now time.Time) error {
	if len(s.Exports)+len(s.FSx) == 0 {
		_, err := fmt.Fprintln(w, "nothing of this cluster goes to a bucket")
		return err
	}
	var t page.Table
	for _, e := range s.Exports {
		lines := goingOut(e.ExportStatus, now)
		if e.Awaited != nil {
			lines = append([]string{awaitedText(*e.Awaited)}, lines...)
		}
		t.Add(status.TitleOf(e.ExportStatus), strings.Join(lines, ", "))
		t.AddList("  waits", fileLines(e.Waiting, e.Pending-e.Blocked))
		t.AddList("  cannot be exported", fileLines(e.BlockedFiles, e.Blocked))
		if e.Error != "" {
			t.Add("  fails", e.Error)
		}
	}
	for _, f := range s.FSx {
		t.Add(f.title(), f.text())
		if f.Proof != nil {
			t.Add("  compared", proofText(*f.Proof))
		}
		if f.Blind != "" {
			t.Add("  blind", f.Blind)
		}
	}
	return t.Write(w)
}

// fileLines are the first of so many files.
func fileLines(first []client.WaitingFile, all int) []string {
	var lines []string
	for _, f := range first[:min(3, len(first))] {
		lines = append(lines, f.Path+": "+f.Reason)
	}
	if more := all - len(lines); more > 0 && len(lines) > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
