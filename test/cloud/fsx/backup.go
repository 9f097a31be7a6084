package fsx

import (
	"cmp"
	"context"
	"slices"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// backup is a copy of a file system.
type backup struct {
	id   string
	of   string // a file system's ID
	in   creation
	tags []tag
	life life
}

func (s *Service) describeBackup(b *backup) fields {
	return fields{"BackupId": b.id, "Lifecycle": b.life.at(s.clock.Now()), "Type": "USER_INITIATED", "CreationTime": epoch(b.life.made),
		"ResourceARN": s.arn("backup", b.id), "Tags": append([]tag{}, b.tags...),
		"FileSystem": fields{"FileSystemId": b.of, "FileSystemType": b.in.FileSystemType, "StorageCapacity": b.in.StorageCapacity, "StorageType": b.in.StorageType}}
}

// createBackup follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateBackup.html
func (s *Service) createBackup(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		FileSystemId, ClientRequestToken string
		Tags                             []tag
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.system(in.FileSystemId)
	if err != nil {
		return nil, err
	}
	if l := f.in.LustreConfiguration; l != nil && (l.ImportPath != "" || l.DeploymentType == "SCRATCH_1" || l.DeploymentType == "SCRATCH_2") {
		return nil, wire.Errorf("UnsupportedOperation", "Backups are not supported on scratch file systems and on those that are linked to a bucket")
	}
	b := &backup{id: newID("backup-"), of: f.id, in: f.in, tags: in.Tags}
	b.life.made = s.clock.Now()
	b.life.become(b.life.made, "CREATING", "AVAILABLE", takesToUpdate)
	s.backups = append(s.backups, b)
	return fields{"Backup": s.describeBackup(b)}, nil
}

// backup finds a backup. Service.mu is held.
func (s *Service) backup(id string) (*backup, error) {
	for _, b := range s.backups {
		if b.id == id {
			return b, nil
		}
	}
	return nil, wire.Errorf("BackupNotFound", "Backup '%s' does not exist.", id)
}

func (s *Service) describeBackups(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		BackupIds  []string
		Filters    []filter
		MaxResults int
		NextToken  string
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range in.BackupIds {
		if _, err := s.backup(id); err != nil {
			return nil, err
		}
	}
	var all []fields
	for _, b := range s.backups {
		if (len(in.BackupIds) == 0 || slices.Contains(in.BackupIds, b.id)) && passes(in.Filters, map[string]string{"file-system-id": b.of}) {
			all = append(all, s.describeBackup(b))
		}
	}
	some, next, err := page(all, in.NextToken, in.MaxResults)
	return answer("Backups", some, next), err
}

func (s *Service) deleteBackup(_ context.Context, c *wire.Call) (fields, error) {
	var in struct{ BackupId, ClientRequestToken string }
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.backup(in.BackupId)
	if err != nil {
		return nil, err
	}
	s.backups = slices.DeleteFunc(s.backups, func(o *backup) bool { return o == b })
	return fields{"BackupId": b.id, "Lifecycle": "DELETED"}, nil
}

// fromBackup follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemFromBackup.html
func (s *Service) fromBackup(ctx context.Context, c *wire.Call) (fields, error) {
	var in struct {
		BackupId string
		creation
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	if old, err := s.again(in.ClientRequestToken, string(c.Body)); old != nil || err != nil {
		return old, err
	}
	s.mu.Lock()
	b, err := s.backup(in.BackupId)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	want := b.in
	want.ClientRequestToken, want.SubnetIds, want.SecurityGroupIds, want.Tags = in.ClientRequestToken, in.SubnetIds, in.SecurityGroupIds, in.Tags
	want.StorageCapacity, want.StorageType = cmp.Or(in.StorageCapacity, want.StorageCapacity), cmp.Or(in.StorageType, want.StorageType)
	if in.LustreConfiguration != nil && want.LustreConfiguration != nil {
		want.LustreConfiguration = overlaid(*want.LustreConfiguration, in.LustreConfiguration)
	}
	if in.OpenZFSConfiguration != nil && want.OpenZFSConfiguration != nil {
		want.OpenZFSConfiguration = overlaid(*want.OpenZFSConfiguration, in.OpenZFSConfiguration)
	}
	if err := want.check(); err != nil {
		return nil, err
	}
	return s.add(ctx, want, string(c.Body))
}
