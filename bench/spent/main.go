// Command spent runs a program and prints what it took: the seconds, the seconds of CPU, the MB of memory at its peak, and the
// seconds until all that was written is on the disk.
// What the program writes to stdout is dropped. It has to end well.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n", cmd.Args, err)
		os.Exit(1)
	}
	took := time.Since(began)
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	syscall.Sync()
	fmt.Printf("%.3f\n%.3f\n%.1f\n%.3f\n", took.Seconds(), cpu.Seconds(), float64(used.Maxrss)*1024/1e6, time.Since(began).Seconds())
}
