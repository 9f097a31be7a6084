package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/count"
)

// write writes the answer for people.
func (s statusAnswer) write(w io.Writer, now time.Time) error {
	if len(s.Clusters) == 0 {
		_, err := fmt.Fprintln(w, "no clusters; "+makesOne)
		return err
	}
	for i, c := range s.Clusters {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := c.table(now).write(w); err != nil {
			return err
		}
	}
	return nil
}

func (s clusterStatus) table(now time.Time) table {
	var t table
	t.add(s.Name, s.headline(now))
	if s.File != "" {
		t.add("  file", s.File)
	}
	if s.AWS != nil {
		s.addAWS(&t)
	}
	if s.Dir != "" {
		t.add("  folder", s.Dir)
	}
	s.addServices(&t, now)
	s.addNodes(&t)
	if s.Jobs != nil {
		t.add("  jobs", s.Jobs.text())
	}
	addList(&t, "  mounts", mountLines(s.Mounts))
	if s.S3 != nil {
		t.add("  S3", s.S3.text())
	}
	addList(&t, "  exports", exportLines(s.Exports, now))
	addList(&t, "  look at", s.Look)
	addList(&t, "  blind", s.Blind)
	return t
}

func (s clusterStatus) headline(now time.Time) string {
	text := s.State
	if !s.Since.IsZero() {
		text += " for " + span(now.Sub(s.Since))
	}
	if s.User != "" {
		text += ", made by " + s.User
	}
	return text
}

// addList adds lines below one heading.
func addList(t *table, heading string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			heading = ""
		}
		t.add(heading, line)
	}
}

func (s clusterStatus) addServices(t *table, now time.Time) {
	var ready, lines []string
	for _, x := range s.Services {
		if x.Phase == serviceReady && x.Restarts == 0 {
			ready = append(ready, x.Name)
			continue
		}
		line := fmt.Sprintf("%s %s for %s", x.Name, x.Phase, span(now.Sub(x.Since)))
		if x.Restarts > 0 {
			line += fmt.Sprintf(", restarted %s%s", times(x.Restarts), lastRun(x))
		}
		lines = append(lines, line)
	}
	if len(ready) > 0 {
		lines = append([]string{strings.Join(ready, ", ") + " ready"}, lines...)
	}
	addList(t, "  services", lines)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func (s clusterStatus) addNodes(t *table) {
	if s.Nodes == nil {
		return
	}
	var lines []string
	for _, x := range s.Nodes.States {
		lines = append(lines, fmt.Sprintf("%d %s: %s", x.Count, x.State, x.Nodes))
	}
	if len(s.Nodes.States) > 1 {
		lines = append([]string{strconv.Itoa(s.Nodes.Total) + " in all"}, lines...)
	}
	if len(lines) == 0 {
		lines = []string{"none"}
	}
	addList(t, "  nodes", lines)
}

func (j jobsStatus) text() string {
	parts := []string{fmt.Sprintf("%d running", j.Running)}
	for _, x := range []struct {
		n    int
		what string
	}{{j.Starting, "starting"}, {j.Completing, "completing"}, {j.Suspended, "suspended"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d pending", j.Pending)), ", ")
}

func mountLines(mounts []mountStatus) []string {
	var lines []string
	for _, m := range mounts {
		least := ""
		if m.AtLeast {
			least = "at least "
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s used, %s free", m.Path, least, byteSize(m.UsedBytes), byteSize(m.FreeBytes)))
	}
	return lines
}

func (s s3Status) text() string {
	if len(s.Buckets) == 0 {
		return s.Endpoint + ", no buckets"
	}
	return fmt.Sprintf("%s, %s: %s", s.Endpoint, count.Of(len(s.Buckets), "bucket"), strings.Join(s.Buckets, ", "))
}

func exportLines(exports []client.ExportStatus, now time.Time) []string {
	var lines []string
	for _, e := range exports {
		parts := []string{}
		if e.Export {
			parts = goingOut(e, now)
		}
		if e.Import {
			parts = append(parts, fmt.Sprintf("%d imported", e.Imported))
			if e.Removed > 0 {
				parts = append(parts, fmt.Sprintf("%d deleted as in the bucket", e.Removed))
			}
		}
		lines = append(lines, strings.TrimSuffix(titleOf(e)+": "+strings.Join(parts, ", "), ": "))
	}
	return lines
}

// goingOut says how far an export is.
func goingOut(e client.ExportStatus, now time.Time) []string {
	parts := []string{waitsFor(e)}
	if e.Blocked > 0 {
		parts = append(parts, fmt.Sprintf("%d of them cannot be exported", e.Blocked))
	}
	if n := len(e.Uploading); n > 0 {
		u := e.Uploading[0]
		sending := fmt.Sprintf("sending %s (%s of %s, for %s)", u.Path, byteSize(u.SentBytes), byteSize(u.SizeBytes), span(now.Sub(u.Since)))
		if n > 1 {
			sending += fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, sending)
	}
	if e.Error != "" && !e.LastSuccess.IsZero() {
		parts = append(parts, fmt.Sprintf("all was well %s ago", span(now.Sub(e.LastSuccess))))
	}
	return append(parts, fmt.Sprintf("%d exported", e.Exported))
}

// waitsFor says how much is to be exported.
func waitsFor(e client.ExportStatus) string {
	if e.PendingUnknown && e.Pending == 0 {
		return "unknown how many wait"
	}
	text := fmt.Sprintf("%d waiting", e.Pending)
	if e.PendingBytes > 0 {
		text += fmt.Sprintf(" (%s)", byteSize(e.PendingBytes))
	}
	if e.PendingUnknown {
		text += ", maybe more"
	}
	return text
}

// lastRun says how a service's last run ended.
func lastRun(s serviceStatus) string {
	if s.Last == "" {
		return ""
	}
	return ", its last run " + s.Last
}

// titleOf says which directory is tied to which place.
func titleOf(e client.ExportStatus) string {
	arrow := "--"
	switch {
	case e.Export && e.Import:
		arrow = "<->"
	case e.Export:
		arrow = "->"
	case e.Import:
		arrow = "<-"
	}
	return fmt.Sprintf("%s %s s3://%s/%s", e.Path, arrow, e.Bucket, e.Prefix)
}
