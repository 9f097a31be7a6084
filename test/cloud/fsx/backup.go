package fsx

import (
	"cmp"
	"context"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// backup is a copy of a file system.
type backup struct {
	resource
	in creation
}

func showBackup(b *backup) fields {
	return fields{"Type": "USER_INITIATED",
		"FileSystem": fields{"FileSystemId": b.system, "FileSystemType": b.in.FileSystemType, "StorageCapacity": b.in.StorageCapacity, "StorageType": b.in.StorageType}}
}

type backupRequest struct {
	FileSystemId, ClientRequestToken string
	Tags                             []tag
}

// createBackup follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateBackup.html
func (s *Service) createBackup(in *backupRequest) (fields, error) {
	f, err := s.systems.find(in.FileSystemId)
	if err != nil {
		return nil, err
	}
	if l := f.in.LustreConfiguration; l != nil && (l.ImportPath != "" || l.DeploymentType == "SCRATCH_1" || l.DeploymentType == "SCRATCH_2") {
		return nil, wire.Errorf("UnsupportedOperation", "Backups are not supported on scratch file systems and on those that are linked to a bucket")
	}
	return add(s, &s.backups, &backup{resource: resource{system: f.id, tags: in.Tags}, in: f.in}, "AVAILABLE", takesToUpdate), nil
}

type restoration struct {
	BackupId string
	creation
}

// fromBackup follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemFromBackup.html
func (s *Service) fromBackup(ctx context.Context, c *wire.Call, in *restoration) (fields, error) {
	if old, err := s.made(in.ClientRequestToken, c); old != nil || err != nil {
		return old, err
	}
	s.mu.Lock()
	b, err := s.backups.find(in.BackupId)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	want := b.in
	want.ClientRequestToken, want.SubnetIds, want.SecurityGroupIds, want.Tags = in.ClientRequestToken, in.SubnetIds, in.SecurityGroupIds, in.Tags
	want.StorageCapacity, want.StorageType = cmp.Or(in.StorageCapacity, want.StorageCapacity), cmp.Or(in.StorageType, want.StorageType)
	want.LustreConfiguration = overlaid(want.LustreConfiguration, in.LustreConfiguration)
	want.OpenZFSConfiguration = overlaid(want.OpenZFSConfiguration, in.OpenZFSConfiguration)
	if err := want.check(); err != nil {
		return nil, err
	}
	return s.add(ctx, c, want)
}
