package test

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// containerProcesses are those of this cluster that make and keep containers.
func (c *cluster) containerProcesses(names ...string) []process {
	var found []process
	for _, p := range c.processes() {
		if slices.Contains(names, p.name) || slices.Contains(names, "hold") && len(p.args) > 2 && p.args[1] == "container" && p.args[2] == "hold" {
			found = append(found, p)
		}
	}
	return found
}

// noContainerLeft fails the test if a node has anything of a container that ended.
func (c *cluster) noContainerLeft() {
	c.t.Helper()
	c.await("no container is left", 10*time.Second, func() bool {
		return len(c.containerProcesses("hold", "squashfuse", "squashfuse_ll")) == 0 && len(c.imageLoops()) == 0
	})
}

// imageLoops are loop devices of the machine with an image of this test's. Their
// path in /sys is that of another mount namespace, so the file itself is compared.
func (c *cluster) imageLoops() []string {
	c.t.Helper()
	images, _ := filepath.Glob(filepath.Join(c.dir, "*.sqsh"))
	shared, _ := filepath.Glob(c.path("shared", "*", "containers", "images", "*.sqsh"))
	type id struct{ device, inode uint64 }
	mine := map[id]bool{}
	for _, image := range append(images, shared...) {
		var st unix.Stat_t
		if err := unix.Stat(image, &st); err == nil {
			mine[id{st.Dev, st.Ino}] = true
		}
	}
	devices, _ := filepath.Glob("/dev/loop[0-9]*")
	return slices.DeleteFunc(devices, func(device string) bool {
		f, err := os.Open(device)
		if err != nil {
			return true
		}
		defer f.Close()
		info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
		return err != nil || !mine[id{info.Device, info.Inode}]
	})
}
