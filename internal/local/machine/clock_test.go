package machine

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestUptimeOffset(t *testing.T) {
	for _, try := range []struct {
		wall, up unix.Timespec
		want     string
	}{
		{unix.Timespec{Sec: 9, Nsec: 0}, unix.Timespec{Sec: 100, Nsec: 0}, "boottime -100 0\n"},
		{unix.Timespec{Sec: 9, Nsec: 300}, unix.Timespec{Sec: 100, Nsec: 200}, "boottime -100 100\n"},
		{unix.Timespec{Sec: 9, Nsec: 200}, unix.Timespec{Sec: 100, Nsec: 300}, "boottime -101 999999900\n"},
		{unix.Timespec{Sec: 9, Nsec: 200}, unix.Timespec{Sec: 0, Nsec: 100}, "boottime 0 100\n"},
	} {
		if got := uptimeOffset(try.wall, try.up); got != try.want {
			t.Errorf("wall clock %v, uptime %v: %q, want %q", try.wall, try.up, got, try.want)
		}
	}
}
