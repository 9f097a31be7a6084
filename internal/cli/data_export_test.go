package cli

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/data/lustre"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestExportsAnswer(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	status := client.ExportStatus{Path: "/fsx1/runs", Bucket: "results", Prefix: "runs/", Export: true, Exported: 7}
	busy := status
	busy.Pending, busy.PendingBytes, busy.Blocked = 5, 3<<20, 1
	busy.Waiting = []client.WaitingFile{{Path: "a", Reason: "it is being written"}, {Path: "b", Reason: "new"}}
	busy.BlockedFiles = []client.WaitingFile{{Path: "pipe", Reason: "it is a pipe, not a file"}}
	failing := status
	failing.Error, failing.FailsSince = "no answer", now.Add(-time.Hour)
	for _, c := range []struct {
		name    string
		status  client.ExportStatus
		awaited *client.Awaited
		text    string
		ends    string
	}{
		{"all_is_there", status, nil, "/fsx1/runs -> s3://results/runs/  0 waiting, 7 exported\n", ""},
		{"some_wait", busy, nil, `/fsx1/runs -> s3://results/runs/  5 waiting (3.0 MiB), 1 of them cannot be exported, 7 exported
  waits                           a: it is being written
                                  b: new
                                  and 2 more
  cannot be exported              pipe: it is a pipe, not a file
`, "exit code 3"},
		{"it_fails", failing, nil, "/fsx1/runs -> s3://results/runs/  0 waiting, failing for 1 h 0 min, 7 exported\n  fails                           no answer\n", "exit code 3"},
		{"awaited", status, &client.Awaited{Files: 9, Verified: 7, Changed: 1, LeftAlone: 1},
			"/fsx1/runs -> s3://results/runs/  7 of 9 files verified, 1 changed meanwhile, 1 left as the policy says, 0 waiting, 7 exported\n", ""},
		{"awaited_in_vain", status, &client.Awaited{Files: 9, Verified: 5, Blocked: 2, BlockedFiles: []client.WaitingFile{{Path: "pipe", Reason: "it is a pipe"}}, Different: []string{"x", "y"}},
			"/fsx1/runs -> s3://results/runs/  5 of 9 files verified, 2 cannot be exported, 0 waiting, 7 exported\n",
			"not all of /fsx1/runs is in s3://results/runs/: pipe cannot be exported: it is a pipe; nor can 1 more; x is another one there; so with 1 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := exportsAnswer{Exports: []exportAnswer{{ExportStatus: c.status, Awaited: c.awaited}}}
			var out bytes.Buffer
			if err := answer.write(&out, now); err != nil || out.String() != c.text {
				t.Errorf("got %v\n%s\nwant\n%s", err, out.String(), c.text)
			}
			ends := ""
			if err := answer.exit(c.awaited != nil); err != nil {
				ends = err.Error()
			}
			if ends != c.ends {
				t.Errorf("it ends with %q, want %q", ends, c.ends)
			}
		})
	}
	fsx := exportsAnswer{FSx: []fsxAnswer{fsxOf(spec.DataRepository{Dir: "/fsx", Bucket: "b"}, lustre.Exported{Files: 9, Waiting: []string{"/fsx/x", "/fsx/y"}})}}
	var told bytes.Buffer
	if err := fsx.write(&told, now); err != nil || told.String() != "/fsx -> s3://b/  by FSx: 2 of 9 files waiting, such as /fsx/x\n  blind          "+notAsked+"\n" {
		t.Errorf("of FSx it says %q, %v", told.String(), err)
	}
	if fsx.exit(false) != nil || fsx.exit(true) == nil {
		t.Error("what is not compared passes for proven")
	}
	var out bytes.Buffer
	if err := (exportsAnswer{}).write(&out, now); err != nil || out.String() != "nothing of this cluster goes to a bucket\n" {
		t.Errorf("of nothing it says %q, %v", out.String(), err)
	}
}

func TestExportsHeldBack(t *testing.T) {
	status := client.ExportStatus{Path: "/fsx1/runs", Waiting: []client.WaitingFile{
		{Path: "log", Reason: "it is being written"},
		{Path: "a/step-9/x.pt", Reason: "a/step-9 is not whole: y.pt is not there yet, and it changed 3s ago"},
		{Path: "a/step-9/z.pt", Reason: "a/step-9 is not whole: y.pt is not there yet, and it changed 3s ago"},
	}}
	answer, told := exportsAnswer{Exports: []exportAnswer{{ExportStatus: status}}}, map[string]bool{}
	want := []string{"/fsx1/runs/a/step-9 waits, as it is not whole: y.pt is not there yet, and it changed 3s ago"}
	if got := answer.heldBack(told); !slices.Equal(got, want) {
		t.Errorf("first it tells %q, want %q", got, want)
	}
	if got := answer.heldBack(told); len(got) > 0 {
		t.Errorf("it tells once more: %q", got)
	}
}
