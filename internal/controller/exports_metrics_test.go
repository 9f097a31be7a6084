package controller

import (
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func TestMetrics(t *testing.T) {
	now := time.Unix(1_700_000_100, 0)
	golden.Check(t, "exports.prom", metrics([]client.ExportStatus{
		{Path: "/fsx1/runs", Bucket: "results", Prefix: "runs/", Export: true, Pending: 3, PendingBytes: 1 << 20, Blocked: 1, WaitsSince: now.Add(-90 * time.Second), Exported: 7, SentBytes: 12345, LastSuccess: now.Add(-time.Minute)},
		{Path: "/a \"b\"\\c\nd", Bucket: "other", Export: true, Error: "no answer", FailsSince: now.Add(-time.Hour)},
		{Path: "/data", Bucket: "sets", Import: true},
	}, now))
}
