package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/status"
)

// write writes the answer for people.
func (s statusAnswer) write(w io.Writer, now time.Time) error {
	if len(s.Clusters) == 0 {
		if _, err := fmt.Fprintln(w, "no clusters; "+makesOne); err != nil {
			return err
		}
	}
	for i, c := range s.Clusters {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := tableOf(c, now).Write(w); err != nil {
			return err
		}
	}
	return s.writeKept(w)
}

// writeKept says what data of former clusters is kept.
func (s statusAnswer) writeKept(w io.Writer) error {
	for i, k := range s.Kept {
		if i == 0 && len(s.Clusters) > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		text := sayKept(place.Kept{Known: place.Known{Name: k.Name}, Dir: k.Dir})
		if _, err := fmt.Fprintln(w, page.Printable(text)); err != nil {
			return err
		}
	}
	return nil
}

func tableOf(c status.Cluster, now time.Time) page.Table {
	var t page.Table
	t.Add(c.Name, statusHeadline(c, now))
	if c.File != "" {
		t.Add("  file", c.File)
	}
	if c.Own != nil {
		c.Own.Show(&t)
	}
	if c.Dir != "" {
		t.Add("  folder", c.Dir)
	}
	addServices(&t, c.Services, now)
	addNodes(&t, c.Nodes)
	if c.Jobs != nil {
		t.Add("  jobs", c.Jobs.Text("pending"))
	}
	t.AddList("  mounts", mountLines(c.Mounts))
	if c.S3 != nil {
		t.Add("  S3", s3Text(*c.S3))
	}
	t.AddList("  exports", exportLines(c.Exports, now))
	t.AddList("  look at", c.Look)
	t.AddList("  blind", c.Blind)
	return t
}

func statusHeadline(c status.Cluster, now time.Time) string {
	text := c.State
	if !c.Since.IsZero() {
		text += " for " + count.Span(now.Sub(c.Since))
	}
	if c.User != "" {
		text += ", made by " + c.User
	}
	return text
}

func addServices(t *page.Table, services []status.Service, now time.Time) {
	var ready, lines []string
	for _, x := range services {
		if x.Phase == status.Ready && x.Restarts == 0 {
			ready = append(ready, x.Name)
			continue
		}
		line := fmt.Sprintf("%s %s for %s", x.Name, x.Phase, count.Span(now.Sub(x.Since)))
		if x.Restarts > 0 {
			line += fmt.Sprintf(", restarted %s%s", times(x.Restarts), x.LastRun())
		}
		lines = append(lines, line)
	}
	if len(ready) > 0 {
		lines = append([]string{strings.Join(ready, ", ") + " ready"}, lines...)
	}
	t.AddList("  services", lines)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func addNodes(t *page.Table, n *status.Nodes) {
	if n == nil {
		return
	}
	var lines []string
	for _, x := range n.States {
		lines = append(lines, fmt.Sprintf("%d %s: %s", x.Count, x.State, x.Nodes))
	}
	if len(n.States) > 1 {
		lines = append([]string{strconv.Itoa(n.Total) + " in all"}, lines...)
	}
	if len(lines) == 0 {
		lines = []string{"none"}
	}
	t.AddList("  nodes", lines)
}

func mountLines(mounts []status.Mount) []string {
	var lines []string
	for _, m := range mounts {
		least := ""
		if m.AtLeast {
			least = "at least "
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s used, %s free", m.Path, least, count.Bytes(m.UsedBytes), count.Bytes(m.FreeBytes)))
	}
	return lines
}

func s3Text(s status.S3) string {
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
		lines = append(lines, strings.TrimSuffix(status.TitleOf(e)+": "+strings.Join(parts, ", "), ": "))
	}
	return lines
}

// goingOut says how far an export is.
func goingOut(e client.ExportStatus, now time.Time) []string {
	parts := []string{waitsFor(e, now)}
	if e.Blocked > 0 {
		parts = append(parts, fmt.Sprintf("%d of them cannot be exported", e.Blocked))
	}
	if n := len(e.Uploading); n > 0 {
		u := e.Uploading[0]
		sending := fmt.Sprintf("sending %s (%s of %s, for %s)", u.Path, count.Bytes(u.SentBytes), count.Bytes(u.SizeBytes), count.Span(now.Sub(u.Since)))
		if n > 1 {
			sending += fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, sending)
	}
	if e.Error != "" && !e.FailsSince.IsZero() {
		parts = append(parts, fmt.Sprintf("failing for %s", count.Span(now.Sub(e.FailsSince))))
	}
	if e.Error != "" && !e.LastSuccess.IsZero() {
		parts = append(parts, fmt.Sprintf("all was well %s ago", count.Span(now.Sub(e.LastSuccess))))
	}
	return append(parts, fmt.Sprintf("%d exported", e.Exported))
}

// slowExport is from when on it is said how long files wait.
const slowExport = time.Minute

// waitsFor says how much is to be exported.
func waitsFor(e client.ExportStatus, now time.Time) string {
	if e.PendingUnknown && e.Pending == 0 {
		return "unknown how many wait"
	}
	text := fmt.Sprintf("%d waiting", e.Pending)
	if e.PendingBytes > 0 {
		text += fmt.Sprintf(" (%s)", count.Bytes(e.PendingBytes))
	}
	if behind := now.Sub(e.WaitsSince); !e.WaitsSince.IsZero() && behind >= slowExport {
		text += ", the oldest for " + count.Span(behind)
	}
	if e.PendingUnknown {
		text += ", maybe more"
	}
	return text
}
