package nodes

import "testing"

func TestViewShows(t *testing.T) {
	v := View{
		Record: Record{
			Shared: []Mount{
				{Source: "/run/clusters/c/shared/home", Target: "/home"},
				{Source: "/home/ada/work", Target: "/home/ada/work"},
				{Source: "/run/clusters/c/shared/fsx", Target: "/home/ada/work/fsx"},
				{Source: "/tmp/job", Target: "/tmp/job"},
				{Source: "/run/clusters/c/shared/opt-data", Target: "/opt/data"},
			},
			ScratchDirs: []string{"/scratch", "/home/ada/work/scratch"},
		},
		Mounts: []string{"/opt/nfs", "/home/ada/work/disk"},
	}
	for path, want := range map[string]bool{
		"/usr/bin":                     true,
		"/opt/venv/bin":                true,
		"/root/miniconda3/bin":         true,
		"/var/tmp/venv/bin":            true,
		"/data/venv":                   true,
		"/bin":                         true,
		"/usr/../tmp/venv":             false,
		"/tmp/venv/bin":                false,
		"/tmp/job":                     true,
		"/tmp/job/venv/bin":            true,
		"/tmp/jobs":                    false,
		"/run/user/0":                  false,
		"/mnt/nfs/bin":                 false,
		"/home/ada/.local/bin":         false,
		"/home/ada/work/venv/bin":      true,
		"/home/ada/work/fsx/venv":      false,
		"/home/ada/work/scratch/venv":  false,
		"/home/ada/work/disk/venv/bin": true, // a directory is shown with what is mounted below it
		"/scratch/venv":                false,
		"/opt/data/bin":                false,
		"/opt/nfs/bin":                 false,
		"/opt/nfs2/bin":                true,
		"bin":                          false,
		"":                             false,
		"/":                            false,
	} {
		if got := v.Shows(path); got != want {
			t.Errorf("%q: got %t, want %t", path, got, want)
		}
	}
}
