package jobfile_test

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/jobfile"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func TestDraft_Text(t *testing.T) {
	least := jobfile.Draft{Job: "train", Launcher: "torchrun", Script: "train.py", Time: "1-00:00:00"}
	golden.Check(t, "draft.yaml", least.Text())
	golden.Check(t, "draft-full.yaml", jobfile.Draft{
		Job: "llama", GPUs: 4, Queue: "gpu", Launcher: "fsdp", Script: "train.py", Python: "venv/bin/python", Image: "train.sqsh", Checkpoints: "/fsx2/llama",
		Logs: "/fsx3/llama", Time: "90", Arguments: []string{"--config", "a b.yaml", "--lr", "1e-4", "yes", "{model}"}, Data: []string{"/fsx1/c4"},
	}.Text())
	if j := parse(t, least.Text()); j.Name != "train" || j.Nodes != 1 {
		t.Errorf("%+v", j)
	}
}

// FuzzDraft holds that what is drafted is read again as it was.
func FuzzDraft(f *testing.F) {
	for _, s := range []string{"a", "yes", "1e-4", "12:30:00", "a: b", "# c", "- d", "it's", `"`, "\\", "\n", "{model}", "[x", "~", "", "ü\u2028", "&a", "*a", "!x", "@", "`", "%", "0x1f", "2020-01-01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // no file can have it
		}
		d := jobfile.Draft{Job: "train", Nodes: 2, Script: "train.py", Time: "10", Arguments: []string{text, "-x"}}
		j, problems := jobfile.Parse("job.yaml", "/home/u", []byte(d.Text()))
		if j == nil {
			for _, p := range problems.All() {
				if p.Code != "job/text" && p.Code != "file/encoding" {
					t.Fatalf("%+v", p)
				}
			}
			return
		}
		if diff := cmp.Diff([]string{text, "-x"}, j.Arguments); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
