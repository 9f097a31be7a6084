package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestGoingForGood takes a queue in which jobs wait, and a mount whose files are not in
// its bucket.
func TestGoingForGood(t *testing.T) {
	was := face{File: "/a", Text: "a", Queues: []string{"cpu", "gpu", "more"}, Mounts: []string{"/f", "/fs"}}
	is := face{File: "/a", Text: "b", Queues: []string{"cpu"}}
	used := useOf([]slurm.Queued{
		{ID: 11, Partition: "gpu", State: "RUNNING"}, {ID: 12, Partition: "gpu", State: "PENDING"}, {ID: 13, Partition: "cpu,gpu", State: "PENDING"},
		{ID: 14, Partition: "more,gpu", State: "PENDING"}, {ID: 15, Partition: "cpu", State: "PENDING"},
	})
	used.pending = map[string]int{"/f": 2, "/f/sub": 3, "/fs/a": 7}
	want := []string{
		"queue gpu goes, which has jobs: 2", "queue more goes", "jobs that wait there and cannot run any more: 12, 14",
		"/f goes from all machines; it is empty", "files of /f that are not in the bucket yet: 5",
		"/fs goes from all machines; it is empty", "files of /fs that are not in the bucket yet: 7",
		"jobs that run or wait there: 5",
	}
	if diff := cmp.Diff(want, going(was, is, used)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	is.Queues = []string{"cpu", "gpu"}
	is.Mounts = was.Mounts
	if got := going(was, is, useOf([]slurm.Queued{{ID: 14, Partition: "more,gpu", State: "PENDING"}})); got != nil {
		t.Errorf("a job that has another queue strands: %q", got)
	}
}

func TestGoing(t *testing.T) {
	was := face{
		File: "/w/a.yaml", Text: "a", Region: "r1", OS: "alinux2023", Queues: []string{"cpu", "gpu"},
		Nodes: []string{"cpu-dy-c-1", "gpu-dy-g-1", "gpu-dy-g-2"}, Mounts: []string{"/fsx1", "/fsx2"},
	}
	used := use{jobs: map[string]int{"gpu": 2}, full: map[string]bool{"/fsx1": true}}
	edited := func(f func(*face)) face {
		n := was
		n.Text = "b"
		f(&n)
		return n
	}
	other := edited(func(f *face) { f.File = "/w/b.yaml" })
	for _, row := range []struct {
		name string
		is   face
		want []string
	}{
		{"the_same", was, nil},
		{"edited_and_nothing_goes", edited(func(f *face) { f.Queues = []string{"cpu", "gpu", "more"} }), nil},
		{"edited_and_other_region", edited(func(f *face) { f.Region = "r2" }), nil},
		{"nodes_go_which_is_refused_where_they_work", edited(func(f *face) { f.Nodes = f.Nodes[:2] }), nil},
		{"a_queue_without_jobs_goes", edited(func(f *face) { f.Queues = []string{"gpu"} }), nil},
		{"an_empty_mount_goes", edited(func(f *face) { f.Mounts = []string{"/fsx1"} }), nil},
		{"moved_as_it_is", face{File: "/elsewhere/a.yaml", Text: was.Text, Region: "r1", OS: was.OS, Queues: was.Queues, Nodes: was.Nodes, Mounts: was.Mounts}, nil},
		{"a_queue_with_jobs_goes", edited(func(f *face) { f.Queues, f.Nodes = []string{"cpu"}, f.Nodes[:1] }), []string{
			"queue gpu goes, which has jobs: 2", "2 nodes go: gpu-dy-g-[1-2]", "jobs that run or wait there: 2",
		}},
		{"a_mount_with_files_goes", edited(func(f *face) { f.Mounts = []string{"/fsx2"} }), []string{
			"/fsx1 goes from all machines; its files stay in the run directory", "jobs that run or wait there: 2",
		}},
		{"another_file_that_takes_nothing", other, []string{"it was made of another file: /w/a.yaml", "jobs that run or wait there: 2"}},
		{"another_file_that_takes_all", face{File: "/w/b.yaml", Text: "b", Region: "r2", OS: "ubuntu2204"}, []string{
			"it was made of another file: /w/a.yaml", "queue cpu goes", "queue gpu goes, which has jobs: 2",
			"3 nodes go: cpu-dy-c-1,gpu-dy-g-[1-2]", "/fsx1 goes from all machines; its files stay in the run directory",
			"/fsx2 goes from all machines; it is empty", "the region is r2 instead of r1", "the operating system is ubuntu2204 instead of alinux2023",
			"jobs that run or wait there: 2",
		}},
		{"a_pipe", edited(func(f *face) { f.File = "" }), []string{"it was made of another file: /w/a.yaml", "jobs that run or wait there: 2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, going(was, row.is, used)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	was.File = ""
	piped := edited(func(*face) {})
	if diff := cmp.Diff([]string{"it was made of another text", "jobs that run or wait there: 2"}, going(was, piped, used)); diff != "" {
		t.Errorf("another pipe (-want +got):\n%s", diff)
	}
	if lines := going(was, was, used); lines != nil {
		t.Errorf("the same text by a pipe: %q", lines)
	}
}
