package local

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

// TestOwnPlaces holds that whatever is mounted into a local cluster's machines for the
// cluster itself is where no file system of the user's can be.
func TestOwnPlaces(t *testing.T) {
	ref := Ref{Home: t.TempDir(), Name: "u"}
	l := ref.Layout()
	r, err := newRecord(l, "u", "c.yaml", "", &spec.Cluster{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range append(r.Shared, r.HeadOnly...) {
		if m.Target == "/etc/hosts" || m.Target == "/etc/resolv.conf" || m.Target == "/etc/pam.d/sshd" || strings.HasPrefix(m.Target, trustDir+"/") || strings.HasPrefix(m.Target, "/home") || strings.HasSuffix(m.Target, "-credentials") {
			continue // files, and what is the user's
		}
		if spec.OwnPlace(m.Target) == "" {
			t.Errorf("%s is not one of spec's own places", m.Target)
		}
	}
}

func TestOwned(t *testing.T) {
	for _, row := range []struct{ dir, want string }{
		{"/shared", ""},
		{"/opt/muster2", ""},
		{"/var/lib", ""},
		{"/opt/muster", "/opt/muster cannot be a MountDir: a cluster has files of its own in /opt/muster; choose another directory, for example /shared"},
		{"/run/munge/x", "/run/munge/x cannot be a MountDir: a cluster has files of its own in /run/munge; choose another directory, for example /shared"},
	} {
		got := ""
		if err := owned(&spec.Cluster{SharedStorage: []spec.SharedStorage{{Name: "data", MountDir: row.dir}}}); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

// TestOwnSettings holds that what a local cluster refuses for itself is what check names.
func TestOwnSettings(t *testing.T) {
	for key, want := range map[string]bool{"StateSaveLocation": true, "AuthType": true, "clustername": true, "PriorityType": false} {
		c := &spec.Cluster{}
		c.Scheduling.Slurm.Custom = []spec.Setting{{Key: key, Value: "x"}}
		if err := owned(c); (err != nil) != want || spec.OwnSetting(key) != want {
			t.Errorf("%s: got %v and %v, want %v", key, err, spec.OwnSetting(key), want)
		}
	}
}
