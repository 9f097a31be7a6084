package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountsAt(t *testing.T) {
	const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 254:0 /data /run/m/u/shared/fsx2/bm rw,relatime shared:1 - ext4 /dev/vda rw
41 40 0:33 / /run/m/u/shared/fsx2/bm rw - tmpfs tmpfs rw
42 22 0:34 / /run/m/u2/shared rw - tmpfs tmpfs rw
43 22 0:35 / /run/m/u/shared/a\040b\134\011\012c rw - tmpfs tmpfs rw
44 22 0:36 / /run/m/u rw - tmpfs tmpfs rw
cut
`
	for _, row := range []struct {
		name, dir string
		want      []string
	}{
		{"below_and_at_and_twice_at_one_place", "/run/m/u", []string{"/run/m/u/shared/fsx2/bm", "/run/m/u/shared/fsx2/bm", "/run/m/u/shared/a b\\\t\nc", "/run/m/u"}},
		{"none", "/run/m/u/s3", nil},
		{"root_has_all", "/", []string{"/", "/run/m/u/shared/fsx2/bm", "/run/m/u/shared/fsx2/bm", "/run/m/u2/shared", "/run/m/u/shared/a b\\\t\nc", "/run/m/u"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, mountsAt(mountinfo, row.dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
