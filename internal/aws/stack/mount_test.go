package stack

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// TestSite_says_how_storage_is_mounted holds that machines need no cluster file to mount.
func TestSite_says_how_storage_is_mounted(t *testing.T) {
	root := parse(fleet(1, 1, "c6i.large") + `
SharedStorage:
  - {Name: raid, MountDir: /a, StorageType: Ebs, EbsSettings: {Raid: {Type: 0, NumberOfVolumes: 2}}}
  - {Name: one, MountDir: /b, StorageType: Ebs}
  - {Name: plain, MountDir: /c, StorageType: Efs}
  - {Name: there, MountDir: /d, StorageType: Efs, EfsSettings: {FileSystemId: fs-0123456789abcdef0, EncryptionInTransit: true, IamAuthorization: true, AccessPointId: fsap-0123456789abcdef0}}
`)
	set, err := New(root, nil, facts("c", root))
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{}
	for _, s := range set.Stacks() {
		for _, o := range s.Template.Outputs {
			outputs[o.Name] = "the " + o.Name
		}
	}
	site, err := set.Site(outputs)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]manifest.Storage{}
	for _, s := range site.Storage {
		got[s.Name] = manifest.Storage{Type: s.Type, EFS: s.EFS, RAID: s.RAID}
	}
	want := map[string]manifest.Storage{
		"raid": {Type: "Ebs", RAID: "0"}, "one": {Type: "Ebs"}, "plain": {Type: "Efs", EFS: &manifest.EFSMount{}},
		"there": {Type: "Efs", EFS: &manifest.EFSMount{EncryptionInTransit: true, IAM: true, AccessPoint: "fsap-0123456789abcdef0"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
