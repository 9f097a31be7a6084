package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Disk is a block device.
type Disk struct {
	Path string `json:"name"` // such as /dev/nvme1n1
	Type string `json:"type"` // disk, part, lvm, raid0
	// Model is EC2's own for instance store and EBS.
	Model string `json:"model"`
	// Serial is an EBS volume's ID without its hyphen.
	Serial string `json:"serial"`
	// FSType is empty on an empty disk.
	FSType string `json:"fstype"`
	Mount  string `json:"mountpoint"`
	// Children are partitions and volumes of the disk.
	Children []Disk `json:"children"`
}

// instanceStore is the model of an instance's own disks.
const instanceStore = "Amazon EC2 NVMe Instance Storage"

// disks asks lsblk.
func (m Machine) disks(ctx context.Context) ([]Disk, error) {
	// Before 2.33 it has no column PATH.
	out, err := m.Command(ctx, "lsblk", "--json", "--paths", "--output", "NAME,TYPE,MODEL,SERIAL,FSTYPE,MOUNTPOINT")
	if err != nil {
		return nil, fmt.Errorf("look at disks: %w", err)
	}
	var all struct {
		Devices []Disk `json:"blockdevices"`
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return nil, fmt.Errorf("look at disks: %w", err)
	}
	return all.Devices, nil
}

// array is a file system over disks: what has to be done for it.
type array struct {
	// Disks are those that make it up, in order.
	Disks []string
	// Device is what the file system is on: the disk, or the array of several.
	Device string
	// Assemble is the array's command, empty for one disk or an array that is there.
	Assemble []string
	// Format says that there is no file system yet.
	Format bool
	// Mounted is where it is mounted, empty for nowhere.
	Mounted string
}

// scratch decides what the instance's own disks become: one file system over all of
// them. It is false if there are none.
func scratch(all []Disk) (array, bool) {
	var own []Disk
	for _, d := range all {
		if d.Type == "disk" && strings.TrimSpace(d.Model) == instanceStore {
			own = append(own, d)
		}
	}
	if len(own) == 0 {
		return array{}, false
	}
	return arrayOf(own, "/dev/md/scratch", "0"), true
}

// arrayOf decides for disks: one that they make up already is used as it is.
func arrayOf(disks []Disk, device, level string) array {
	a := array{Device: disks[0].Path, Format: disks[0].FSType == "" && len(disks[0].Children) == 0, Mounted: disks[0].Mount}
	for _, d := range disks {
		a.Disks = append(a.Disks, d.Path)
	}
	slices.Sort(a.Disks)
	if c := disks[0].Children; len(c) > 0 {
		last := c[len(c)-1]
		for len(last.Children) > 0 {
			last = last.Children[0]
		}
		a.Device, a.Mounted, a.Format = last.Path, last.Mount, last.FSType == ""
		return a
	}
	if len(disks) > 1 {
		if a.Device = device; !strings.HasSuffix(disks[0].FSType, "raid_member") {
			a.Assemble, a.Format = append([]string{"mdadm", "--create", device, "--run", "--force", "--level=" + level,
				fmt.Sprintf("--raid-devices=%d", len(disks))}, a.Disks...), true
			return a
		}
		a.Assemble = append([]string{"mdadm", "--assemble", device}, a.Disks...)
	}
	return a
}

// Scratch mounts the instance's own disks as one file system, on which every user may
// write. What is mounted there already stays: images do the same at their start.
func (m Machine) Scratch(ctx context.Context, instanceType, dir string) (string, error) {
	if m.find("lsblk") == "" {
		return "", fmt.Errorf("look at disks: this image has no lsblk")
	}
	all, err := m.disks(ctx)
	if err != nil {
		return "", err
	}
	a, ok := scratch(all)
	switch {
	case !ok && hasDisks(instanceType):
		return "no disks of its own are seen, although " + instanceType + " has some: there is no " + dir, nil
	case !ok:
		return instanceType + " has no disks of its own", nil
	case a.Mounted == dir:
		return fmt.Sprintf("%s was there, %s", dir, count.Of(len(a.Disks), "disk")), nil
	case a.Mounted != "":
		return "", fmt.Errorf("the instance's own disks are mounted at %s, not at %s", a.Mounted, dir)
	}
	if err := m.prepare(ctx, a); err != nil {
		return "", err
	}
	if _, err := m.Mount(ctx, Mount{Source: a.Device, Target: dir, Type: "auto", Options: "noatime,nodiratime"}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %s", dir, count.Of(len(a.Disks), "disk")), os.Chmod(m.path(dir), 0o777|os.ModeSticky)
}

func hasDisks(instanceType string) bool {
	t, ok := catalog.Lookup(instanceType)
	return ok && t.HasDisks()
}

// prepare assembles an array and makes its file system, if blkid sees none.
func (m Machine) prepare(ctx context.Context, a array) error {
	if len(a.Assemble) > 0 {
		if _, err := m.Command(ctx, a.Assemble...); err != nil {
			return err
		}
	}
	if !a.Format {
		return nil
	}
	// The second look: blkid reads the device itself, and says by its exit code 2 that
	// nothing is on it.
	out, err := m.Command(ctx, "blkid", "--probe", a.Device)
	if strings.TrimSpace(out) != "" {
		return nil
	}
	if err != nil && !exitCode(err, 2) {
		return fmt.Errorf("look for a file system on %s: %w", a.Device, err)
	}
	for _, program := range []string{"mkfs.ext4", "mkfs.xfs"} {
		if m.find(program) != "" {
			_, err := m.Command(ctx, program, a.Device)
			return err
		}
	}
	return fmt.Errorf("format %s: this image has neither mkfs.ext4 nor mkfs.xfs", a.Device)
}

// Volume is EBS storage that the head node mounts.
type Volume struct {
	Name, Dir string
	IDs       []string
	// Level is the RAID level of several volumes.
	Level string
}

// volumeWait is how long an attached volume may take to appear.
const volumeWait = 10 * time.Minute

// Volumes mounts an EBS volume, or an array of them. A volume with a file system is
// never formatted.
func (m Machine) Volumes(ctx context.Context, v Volume) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, volumeWait, fmt.Errorf("not all of %s appeared within %s", strings.Join(v.IDs, ", "), volumeWait))
	defer cancel()
	found, err := m.await(ctx, v.IDs)
	if err != nil {
		return "", err
	}
	a := arrayOf(found, "/dev/md/"+v.Name, v.Level)
	if a.Mounted != "" && a.Mounted != v.Dir {
		return "", fmt.Errorf("volume %s is mounted at %s, not at %s", strings.Join(v.IDs, ", "), a.Mounted, v.Dir)
	}
	if a.Mounted == "" {
		if err := m.prepare(ctx, a); err != nil {
			return "", err
		}
		if _, err := m.Mount(ctx, Mount{Source: a.Device, Target: v.Dir, Type: "auto", Options: "noatime,nodiratime"}); err != nil {
			return "", err
		}
	}
	return v.Dir + " on " + strings.Join(v.IDs, ", "), nil
}

// await waits until the disks of all volumes are there.
func (m Machine) await(ctx context.Context, ids []string) ([]Disk, error) {
	for {
		all, err := m.disks(ctx)
		if err != nil {
			return nil, err
		}
		if found := volumes(all, ids); len(found) == len(ids) {
			return found, nil
		}
		if err := pause.For(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// volumes finds the disks of EBS volumes by their serial number, which is the
// volume's ID without its hyphen.
func volumes(all []Disk, ids []string) []Disk {
	var found []Disk
	for _, id := range ids {
		for _, d := range all {
			if d.Type == "disk" && strings.TrimSpace(d.Serial) == strings.ReplaceAll(id, "-", "") {
				found = append(found, d)
			}
		}
	}
	return found
}
