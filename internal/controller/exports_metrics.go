package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// metricsEvery is how old the figures may be.
const metricsEvery = 15 * time.Second

// WriteMetrics keeps a file of figures about the exports up to date, until ctx ends: in Prometheus's text format, for
// node_exporter's textfile collector.
func (e *Exports) WriteMetrics(ctx context.Context, path string, log *slog.Logger) error {
	if !slices.ContainsFunc(e.links, func(l *link) bool { return l.exports() }) {
		return nil
	}
	for trouble := false; ; {
		err := whole.Write(path, []byte(metrics(e.Told(), time.Now())), 0o644)
		if err != nil && !trouble {
			log.Warn("figures of the exports not written", "path", path, "error", err)
		}
		trouble = err != nil
		if pause.For(ctx, metricsEvery) != nil {
			return nil
		}
	}
}

// metrics are the figures of exports at a time.
func metrics(all []client.ExportStatus, now time.Time) string {
	var b strings.Builder
	for _, m := range []struct {
		name, kind, help string
		value            func(client.ExportStatus) float64
	}{
		{"muster_export_waiting_files", "gauge", "Files that are not in the bucket as they are.", func(s client.ExportStatus) float64 { return float64(s.Pending) }},
		{"muster_export_waiting_bytes", "gauge", "What of them is still to be sent.", func(s client.ExportStatus) float64 { return float64(s.PendingBytes) }},
		{"muster_export_oldest_wait_seconds", "gauge", "Since when the oldest of the files waits that could be sent.", func(s client.ExportStatus) float64 { return since(s.WaitsSince, now) }},
		{"muster_export_blocked_files", "gauge", "Files that cannot be exported.", func(s client.ExportStatus) float64 { return float64(s.Blocked) }},
		{"muster_export_failing", "gauge", "Whether the last look or round failed, or not all could be seen.", func(s client.ExportStatus) float64 { return truth(s.Error != "" || s.PendingUnknown) }},
		{"muster_export_fails_since_timestamp_seconds", "gauge", "Since when each look or round failed, 0 if the last one did not.", func(s client.ExportStatus) float64 { return unixTime(s.FailsSince) }},
		{"muster_export_files_total", "counter", "Files that were exported since the controller started.", func(s client.ExportStatus) float64 { return float64(s.Exported) }},
		{"muster_export_sent_bytes_total", "counter", "Bytes that were sent since the controller started.", func(s client.ExportStatus) float64 { return float64(s.SentBytes) }},
		{"muster_export_last_success_timestamp_seconds", "gauge", "When all was well last.", func(s client.ExportStatus) float64 { return unixTime(s.LastSuccess) }},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, s := range all {
			if s.Export {
				fmt.Fprintf(&b, "%s{path=%s,bucket=%s,prefix=%s} %s\n", m.name, label(s.Path), label(s.Bucket), label(s.Prefix), strconv.FormatFloat(m.value(s), 'f', -1, 64))
			}
		}
	}
	return b.String()
}

// label is a label's value in quotes, as Prometheus reads it.
func label(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(text, "\uFFFD")) + `"`
}

func since(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(now.Sub(at).Seconds(), 0)
}

func unixTime(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixMilli()) / 1000
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
