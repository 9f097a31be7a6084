package image

import "testing"

func TestMegabytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 4096: "4 kB", 999_999: "999 kB", 1e6: "1 MB", 40_000_000: "40 MB"} {
		if got := megabytes(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
}
