package boot

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// fake are programs that note how they were run and answer as they are told.
type fake struct {
	missing []string
	answers map[string]string // by the beginning of the command line
	fails   map[string]error
	ran     []string
}

func (f *fake) Find(name string) string {
	if slices.Contains(f.missing, name) {
		return ""
	}
	return "/usr/bin/" + name
}

func (f *fake) Run(_ context.Context, args ...string) (string, error) {
	line := strings.Join(args, " ")
	f.ran = append(f.ran, line)
	for start, err := range f.fails {
		if strings.HasPrefix(line, start) {
			return "", err
		}
	}
	answer, most := "", -1
	for start, text := range f.answers {
		if strings.HasPrefix(line, start) && len(start) > most { // the one that says most of the line
			answer, most = text, len(start)
		}
	}
	return answer, nil
}

// machineOf is a machine in a directory of its own.
func machineOf(t *testing.T, f *fake, mounts string) Machine {
	t.Helper()
	m := Machine{Root: t.TempDir(), Programs: f}
	for name, text := range map[string]string{"/proc/self/mounts": mounts} {
		if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestMountOf(t *testing.T) {
	for name, row := range map[string]struct {
		storage manifest.Storage
		want    Mount
	}{
		"lustre":        {manifest.Storage{Type: "FsxLustre", Host: "fs-1.fsx", Export: "abcd"}, Mount{Source: "fs-1.fsx@tcp:/abcd", Type: "lustre", Options: "noatime,flock,user_xattr,_netdev"}},
		"zfs":           {manifest.Storage{Type: "FsxOpenZfs", Host: "fs-2.fsx", Export: "/fsx/"}, Mount{Source: "fs-2.fsx:/fsx", Type: "nfs", Options: nfsOptions}},
		"efs":           {manifest.Storage{Type: "Efs", Host: "fs-3.efs", Export: "/", EFS: &manifest.EFSMount{}}, Mount{Source: "fs-3.efs:/", Type: "nfs", Options: efsOptions}},
		"efs_encrypted": {manifest.Storage{Type: "Efs", Host: "fs-3.efs", IDs: []string{"fs-3"}, EFS: &manifest.EFSMount{EncryptionInTransit: true, IAM: true, AccessPoint: "fsap-1"}}, Mount{Source: "fs-3:/", Type: "efs", Options: "_netdev,noresvport,tls,iam,accesspoint=fsap-1"}},
		"volume":        {manifest.Storage{Type: "Ebs"}, Mount{Source: "10.0.0.5:/data", Type: "nfs", Options: nfsOptions}},
	} {
		t.Run(name, func(t *testing.T) {
			row.storage.Name, row.storage.MountDir, row.want.Target = "s", "/data", "/data"
			got, err := MountOf(row.storage, "10.0.0.5")
			if err != nil || got != row.want {
				t.Errorf("got %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
	for name, s := range map[string]manifest.Storage{"older_manifest": {Name: "s", Type: "Efs", Host: "h", IDs: []string{"fs-1"}}, "no_host": {Name: "s", Type: "FsxLustre"}, "no_type": {Name: "s", Type: "Tape", Host: "h"}} {
		if m, err := MountOf(s, ""); err == nil {
			t.Errorf("%s: got %+v and no error", name, m)
		}
	}
}

// TestMounts_fit_exports holds both ends of NFS together: an export without `insecure`
// refuses requests from ports that any user can take, and ours, with no_root_squash, must
// never take them.
func TestMounts_fit_exports(t *testing.T) {
	text := exports("", []string{"/home", "/data"}, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")})
	if strings.Contains(text, "insecure") || !strings.Contains(text, "no_root_squash") {
		t.Fatalf("any user could speak NFS as root to these exports:\n%s", text)
	}
	mounts := map[string]Mount{"home": NFS("10.0.0.5", "/home")}
	for _, kind := range []spec.StorageKind{spec.EBS, spec.OpenZFS, spec.ONTAP, spec.EFS} {
		m, err := MountOf(manifest.Storage{Name: "s", Type: kind, MountDir: "/data", Host: "h", Export: "/", EFS: &manifest.EFSMount{}}, "10.0.0.5")
		if err != nil {
			t.Fatal(err)
		}
		mounts[string(kind)] = m
	}
	for name, m := range mounts {
		// EFS alone is known to take any port.
		if any := slices.Contains(strings.Split(m.Options, ","), "noresvport"); any != (name == string(spec.EFS)) {
			t.Errorf("%s is mounted with %s", name, m.Options)
		}
	}
}

func TestMount(t *testing.T) {
	lustre := Mount{Source: "fs-1.fsx@tcp:/abcd", Target: "/fsx", Type: "lustre", Options: "flock"}
	for name, row := range map[string]struct {
		mounts  string
		missing []string
		ran     []string
		err     string
	}{
		"new":      {"/dev/sda1 / ext4 rw 0 0\n", nil, []string{"mount -t lustre -o flock fs-1.fsx@tcp:/abcd /fsx"}, ""},
		"there":    {"10.0.0.9@tcp:/abcd /fsx lustre rw 0 0\n", nil, nil, ""},
		"another":  {"/dev/sdb1 /fsx ext4 rw 0 0\n", nil, nil, "/fsx is /dev/sdb1 (ext4) already, and should be fs-1.fsx@tcp:/abcd"},
		"no_means": {"", []string{"mount.lustre"}, nil, "this image has no mount.lustre"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{missing: row.missing}
			m := machineOf(t, f, row.mounts)
			_, err := m.Mount(t.Context(), lustre)
			if diff := cmp.Diff(row.ran, f.ran); diff != "" {
				t.Error(diff)
			}
			if got := text(err); !strings.Contains(got, row.err) || row.err == "" && got != "" {
				t.Errorf("got %q, want %q", got, row.err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// late is a machine whose file system answers the fourth time.
type late struct {
	fake
	refuses int
}

func (l *late) Run(ctx context.Context, args ...string) (string, error) {
	out, err := l.fake.Run(ctx, args...)
	if args[0] == "mount" && l.refuses > 0 {
		l.refuses--
		return "", errors.New("mount.nfs: Failed to resolve server fs-3.efs: Name or service not known")
	}
	return out, err
}

// TestMount_waits for names that come late, as those of EFS do, and not for ever.
func TestMount_waits(t *testing.T) {
	for name, row := range map[string]struct {
		refuses int
		err     string
	}{
		"late":  {18, ""},
		"never": {1000, "mount /efs from fs-3.efs:/: mount.nfs: Failed to resolve server fs-3.efs: Name or service not known (tried 31 times in 5m0s)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &late{refuses: row.refuses}
				m := machineOf(t, &l.fake, "")
				m.Programs = l
				_, err := m.Mount(t.Context(), Mount{Source: "fs-3.efs:/", Target: "/efs", Type: "nfs"})
				if text(err) != row.err {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestMount_may_be_repeated(t *testing.T) {
	f := &fake{}
	m := machineOf(t, f, "")
	nfs := NFS("10.0.0.5", "/home")
	if _, err := m.Mount(t.Context(), nfs); err != nil {
		t.Fatal(err)
	}
	// The kernel may show anything; what we mounted is noted.
	if err := os.WriteFile(m.path("/proc/self/mounts"), []byte("overlay /home overlay rw 0 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Mount(t.Context(), nfs); err != nil || len(f.ran) != 1 {
		t.Errorf("the second time: %v, ran %q", err, f.ran)
	}
}

func disk(path, model, serial, fs string, children ...Disk) Disk {
	return Disk{Path: path, Type: "disk", Model: model, Serial: serial, FSType: fs, Children: children}
}

func TestScratch_decides(t *testing.T) {
	root := disk("/dev/nvme0n1", "Amazon Elastic Block Store", "vol01", "", Disk{Path: "/dev/nvme0n1p1", Type: "part", FSType: "ext4", Mount: "/"})
	one, two := disk("/dev/nvme1n1", instanceStore, "AWS1", ""), disk("/dev/nvme2n1", instanceStore, "AWS2", "")
	member := func(d Disk) Disk { d.FSType = "linux_raid_member"; return d }
	lvm := one
	lvm.FSType, lvm.Children = "LVM2_member", []Disk{{Path: "/dev/mapper/vg.01-lv_ephemeral", Type: "lvm", FSType: "ext4", Mount: "/scratch"}}
	for name, row := range map[string]struct {
		disks []Disk
		want  array
		none  bool
	}{
		"none": {[]Disk{root}, array{}, true},
		"one":  {[]Disk{root, one}, array{Disks: []string{one.Path}, Device: one.Path, Format: true}, false},
		"two": {[]Disk{two, root, one}, array{Disks: []string{one.Path, two.Path}, Device: "/dev/md/scratch", Format: true,
			Assemble: []string{"mdadm", "--create", "/dev/md/scratch", "--run", "--force", "--level=0", "--raid-devices=2", one.Path, two.Path}}, false},
		"two_after_a_restart": {[]Disk{member(one), member(two)}, array{Disks: []string{one.Path, two.Path}, Device: "/dev/md/scratch",
			Assemble: []string{"mdadm", "--assemble", "/dev/md/scratch", one.Path, two.Path}}, false},
		"the_image_did_it": {[]Disk{lvm}, array{Disks: []string{one.Path}, Device: "/dev/mapper/vg.01-lv_ephemeral", Mounted: "/scratch"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := scratch(row.disks)
			if ok == row.none {
				t.Fatalf("got %+v, %v", got, ok)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const volumeJSON = `{"blockdevices":[{"name":"/dev/nvme1n1","type":"disk","model":"Amazon Elastic Block Store","serial":"vol0a","fstype":null,"mountpoint":null}]}`

func TestVolumes_formats_only_what_is_empty(t *testing.T) {
	for name, row := range map[string]struct {
		blkid string
		fails error
		mkfs  bool
		err   string
	}{
		"empty":       {"", code(2), true, ""},
		"full":        {"/dev/nvme1n1: TYPE=\"xfs\"\n", nil, false, ""},
		"nobody_sees": {"", errors.New("cannot open"), false, "look for a file system on /dev/nvme1n1: cannot open"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answers: map[string]string{"lsblk": volumeJSON, "blkid": row.blkid}, fails: map[string]error{}}
			if row.fails != nil {
				f.fails["blkid"] = row.fails
			}
			m := machineOf(t, f, "")
			_, err := m.Volumes(t.Context(), Volume{Name: "data", Dir: "/data", IDs: []string{"vol-0a"}})
			if got := text(err); got != row.err {
				t.Errorf("got %q, want %q", got, row.err)
			}
			if got := slices.Contains(f.ran, "mkfs.ext4 /dev/nvme1n1"); got != row.mkfs {
				t.Errorf("formatted: %v\n%s", got, strings.Join(f.ran, "\n"))
			}
		})
	}
}

func TestFiles_keep_what_is_not_ours(t *testing.T) {
	lab := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}
	for name, row := range map[string]struct{ got, want string }{
		"exports": {exports("/lab *(ro)", []string{"/home", "/data"}, lab), "/lab *(ro)\n" + mark +
			"\n/data 10.0.0.0/16(rw,sync,no_root_squash,no_subtree_check)\n/home 10.0.0.0/16(rw,sync,no_root_squash,no_subtree_check)\n"},
		"exports_again": {exports(exports("/lab *(ro)\n", []string{"/old"}, lab), nil, lab), "/lab *(ro)\n" + mark + "\n"},
		"hosts": {hosts("127.0.0.1 localhost", map[string]string{"train-head": "10.0.0.5", "a": "10.0.0.6"}),
			"127.0.0.1 localhost\n" + mark + "\n10.0.0.6 a\n10.0.0.5 train-head\n"},
		"resolver":       {searching("search ec2.internal\nnameserver 10.0.0.2\n", "train.muster"), "search train.muster ec2.internal\nnameserver 10.0.0.2\n"},
		"resolver_again": {searching("search train.muster ec2.internal\n", "train.muster"), "search train.muster ec2.internal\n"},
	} {
		if row.got != row.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, row.got, row.want)
		}
	}
}

// TestInsistOnDatabase: the lock of packages comes free late.
func TestInsistOnDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &locked{times: 5}
		if err := (Machine{Programs: l}).InsistOnDatabase(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := l.ran[len(l.ran)-1]; !strings.HasSuffix(got, "install -q -y mariadb-server") {
			t.Errorf("ran %q last", got)
		}
	})
}

// locked is a machine whose updates hold the lock of packages for a while.
type locked struct {
	fake
	times int
}

func (l *locked) Run(ctx context.Context, args ...string) (string, error) {
	if l.times > 0 {
		l.times--
		return "", errors.New("E: Could not get lock /var/lib/apt/lists/lock")
	}
	return l.fake.Run(ctx, args...)
}
