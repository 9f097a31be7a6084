package export

import "testing"

func TestLinkText(t *testing.T) {
	for _, c := range []struct {
		name, mount, at, target string
		want                    string
		stays                   bool
	}{
		{"sibling", "/fsx3", "run/latest", "ck-2", "ck-2", true},
		{"up_and_down", "/fsx3", "run/latest", "../ck-2", "../ck-2", true},
		{"climbs_out", "/fsx3", "run/latest", "../../ck-2", "../../ck-2", false},
		{"below_the_mount", "/fsx3", "abs", "/fsx3/ck", "ck", true},
		{"below_the_mount_from_below", "/fsx3", "a/b/abs", "/fsx3/ck", "../../ck", true},
		{"the_mount_itself", "/fsx3", "a/abs", "/fsx3", "..", true},
		{"name_that_begins_alike", "/fsx3", "abs", "/fsx31/ck", "/fsx31/ck", false},
		{"through_another_link_perhaps", "/fsx3", "abs", "/fsx3/x/../ck", "/fsx3/x/../ck", false},
		{"elsewhere", "/fsx3", "abs", "/etc/passwd", "/etc/passwd", false},
		{"mount_unknown", "", "abs", "/fsx3/ck", "/fsx3/ck", false},
		{"association_below_the_file_system", "/fsx3/out", "abs", "/fsx3/in/x", "/fsx3/in/x", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, stays := linkText(c.mount, c.at, c.target)
			if got != c.want || stays != c.stays {
				t.Errorf("got %q, %v, want %q, %v", got, stays, c.want, c.stays)
			}
			if again, still := linkText(c.mount, c.at, got); again != got || still != stays {
				t.Errorf("a second time it is %q, %v", again, still)
			}
		})
	}
}
