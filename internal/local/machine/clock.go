package machine

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// StartClock gives the processes that the calling thread will start an uptime of
// their own (time_namespaces(7)): it begins now, and its seconds end when those
// of the wall clock do.
//
// slurmctld takes a node's boot time to be its own wall clock minus the time that
// slurmd -b has run by the uptime, both in whole seconds. If the two clocks tick
// at different moments, that comes out now as one second and now as the next.
// Slurm 22.05 then waits for another boot of a node that came up in the second of
// its request, or takes a node for rebooted, and its jobs for lost, at the first
// registration after a restart of slurmctld (validate_node_specs in node_mgr.c).
func StartClock() error {
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		return fmt.Errorf("make time namespace (Linux 6.1 or later): %w", err)
	}
	var wall, up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &wall); err != nil {
		return fmt.Errorf("read clock: %w", err)
	}
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return fmt.Errorf("read uptime: %w", err)
	}
	// The thread's own file: its process's says what another thread may start.
	file := "/proc/" + strconv.Itoa(unix.Gettid()) + "/timens_offsets"
	if err := os.WriteFile(file, []byte(uptimeOffset(wall, up)), 0); err != nil {
		return fmt.Errorf("set uptime: %w", err)
	}
	return nil
}

// uptimeOffset is the line for timens_offsets(5) that makes an uptime start again
// within its first second and tick with the wall clock.
func uptimeOffset(wall, up unix.Timespec) string {
	ns := wall.Nsec - up.Nano()
	sec := ns / 1e9
	if ns %= 1e9; ns < 0 {
		sec, ns = sec-1, ns+1e9
	}
	return fmt.Sprintf("boottime %d %d\n", sec, ns)
}
