package nodes

import (
	"slices"
	"testing"
)

func TestLayers(t *testing.T) {
	const mountinfo = `20 1 0:5 / / rw - tmpfs none rw
21 20 0:30 / /usr rw,relatime shared:1 - overlay overlay rw,lowerdir=/usr,upperdir=/my\040clusters/a\134:b/mnt/head/upper/usr,workdir=/w
22 20 8:1 /home /home rw - ext4 /dev/sda1 rw
23 20 0:31 / /my\040data rw - overlay o rw,lowerdir=/data,upperdir=/my\040clusters/a\134:b/mnt/n-1/upper/data,workdir=/w
24 20 0:32 / /merged rw - overlay o rw,lowerdir=/l,upperdir=/var/lib/containers/u,workdir=/w
25 20 0:33 / /other rw - overlay o rw,lowerdir=/l,upperdir=/my\040clusters/a\134:b2/mnt/head/upper/usr,workdir=/w
`
	l := &Layout{Dir: "/my clusters/a:b"}
	if got, want := l.layers(mountinfo), []string{"/usr", "/my data"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
