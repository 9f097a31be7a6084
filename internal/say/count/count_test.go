package count

import "testing"

func TestOf(t *testing.T) {
	for _, c := range []struct {
		n          int
		noun, want string
	}{
		{0, "node", "0 nodes"}, {1, "node", "1 node"}, {2, "GPU", "2 GPUs"}, {3, "directory", "3 directories"}, {3, "day", "3 days"},
		{1, "process", "1 process"}, {4, "process", "4 processes"}, {4, "address", "4 addresses"}, {5, "file system", "5 file systems"}, {2, "batch", "2 batches"},
	} {
		if got := Of(c.n, c.noun); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := Are(1, "file") + ", " + Are(0, "file"); got != "1 file is, 0 files are" {
		t.Errorf("got %q", got)
	}
}
