package boot

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// Mount is a file system at its place.
type Mount struct {
	Source, Target string
	// Type is mount(8)'s.
	Type    string
	Options string
}

// nfsOptions are those of NFS version 4.1 on AWS. The port is one of root's: servers
// such as the head node answer to no other, or any user could speak NFS as root.
// efsOptions take any port, so that connections come back after EFS moved: EFS takes
// them.
//
// https://docs.aws.amazon.com/efs/latest/ug/mounting-fs-nfs-mount-settings.html
const (
	nfsOptions = "nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,_netdev"
	efsOptions = nfsOptions + ",noresvport"
)

// MountOf is how a file system is mounted. Volumes are mounted on the head node,
// which exports them; their mount is that of all others.
func MountOf(s manifest.Storage, head string) (Mount, error) {
	m := Mount{Target: s.MountDir}
	if s.Type != spec.EBS && s.Host == "" {
		return m, fmt.Errorf("the site does not say where %s is mounted from", s.Name)
	}
	switch s.Type {
	case spec.EBS:
		return NFS(head, s.MountDir), nil
	case spec.Lustre, spec.FileCache:
		m.Source, m.Type, m.Options = s.Host+"@tcp:/"+strings.Trim(s.Export, "/"), "lustre", "noatime,flock,user_xattr,_netdev"
	case spec.OpenZFS, spec.ONTAP:
		m.Source, m.Type, m.Options = s.Host+":/"+strings.Trim(s.Export, "/"), "nfs", nfsOptions
	case spec.EFS:
		if s.EFS == nil {
			return m, fmt.Errorf("the manifest is an older muster's and does not say how %s is mounted: run `muster up` again", s.Name)
		}
		return efs(s, m), nil
	default:
		return m, fmt.Errorf("%s has the type %q, which cannot be mounted", s.Name, s.Type)
	}
	return m, nil
}

// efs needs the helper of amazon-efs-utils where more is asked for than NFS has.
func efs(s manifest.Storage, m Mount) Mount {
	set := *s.EFS
	if !set.EncryptionInTransit && !set.IAM && set.AccessPoint == "" {
		m.Source, m.Type, m.Options = s.Host+":/"+strings.Trim(s.Export, "/"), "nfs", efsOptions
		return m
	}
	options := []string{"_netdev", "noresvport", "tls"}
	if set.IAM {
		options = append(options, "iam")
	}
	if set.AccessPoint != "" {
		options = append(options, "accesspoint="+set.AccessPoint)
	}
	m.Source, m.Type, m.Options = s.IDs[0]+":/", "efs", strings.Join(options, ",")
	return m
}

// NFS is a directory of another machine.
func NFS(host, dir string) Mount {
	return Mount{Source: host + ":" + dir, Target: dir, Type: "nfs", Options: nfsOptions}
}

// helpers are the programs without which mount(8) does not know a type.
var helpers = map[string]string{"lustre": "mount.lustre", "nfs": "mount.nfs", "efs": "mount.efs"}

// mountPatience is how long a file system may take to answer: the names of EFS's mount
// targets come minutes after it, and a node that gives up is launched again and paid for
// again.
var mountPatience = patience{Limit: 5 * time.Minute, Every: 10 * time.Second}

// Mount mounts a file system unless it is mounted, and tries again for a while. Another one at its place is an error.
func (m Machine) Mount(ctx context.Context, w Mount) (detail string, err error) {
	text, err := os.ReadFile(m.path("/proc/self/mounts"))
	if err != nil {
		return "", fmt.Errorf("look at mounts: %w", err)
	}
	noted, err := m.Read(mountsFile)
	if err != nil {
		return "", err
	}
	if have, ok := mountedAt(string(text), w.Target); ok {
		if have.Source != w.Source && !strings.Contains(noted, w.line()) && !sameKind(have, w) {
			return "", fmt.Errorf("%s is %s (%s) already, and should be %s", w.Target, have.Source, have.Type, w.Source)
		}
		return w.Target + " was there", nil
	}
	if helper := helpers[w.Type]; helper != "" && m.find(helper) == "" {
		return "", fmt.Errorf("mount %s: this image has no %s", w.Target, helper)
	}
	if err := os.MkdirAll(m.path(w.Target), 0o755); err != nil {
		return "", err
	}
	args := []string{"mount", "-t", w.Type}
	if w.Options != "" {
		args = append(args, "-o", w.Options)
	}
	err = mountPatience.try(ctx, func(ctx context.Context) (bool, error) {
		_, err := m.Command(ctx, append(args, w.Source, w.Target)...)
		return true, err
	})
	if err != nil {
		return "", fmt.Errorf("mount %s from %s: %w", w.Target, w.Source, err)
	}
	if _, err := m.Write(mountsFile, noted+w.line(), 0o644, ""); err != nil {
		return "", err
	}
	return w.Target + " from " + w.Source, nil
}

// mountsFile notes what was mounted since the machine started: the kernel may show
// another source than the one that was asked for, such as a server's address.
const mountsFile = "/run/muster/mounts"

func (w Mount) line() string { return w.Source + " " + w.Target + "\n" }

// mountedAt reads /proc/self/mounts: the last one at a place is the one that is seen.
func mountedAt(mounts, target string) (Mount, bool) {
	var last Mount
	for line := range strings.Lines(mounts) {
		if f := strings.Fields(line); len(f) > 3 && unescape(f[1]) == target {
			last = Mount{Source: unescape(f[0]), Target: target, Type: f[2], Options: f[3]}
		}
	}
	return last, last.Target != ""
}

// unescape undoes what the kernel does to blanks in paths.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// sameKind tells whether a mount may be the one that is wanted although its source
// looks different: Lustre shows addresses, and mount.efs its own proxy.
func sameKind(have, want Mount) bool {
	if want.Type == "lustre" {
		return have.Type == "lustre"
	}
	return slices.Contains([]string{"nfs", "efs"}, want.Type) && strings.HasPrefix(have.Type, "nfs")
}
