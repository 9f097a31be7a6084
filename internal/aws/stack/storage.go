package stack

import (
	"strconv"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// storage is the stack of everything that holds data; nil if it would be empty.
func (m *maker) storage() *Stack {
	if m.net.vpc.absent() {
		return nil
	}
	p := m.part(m.facts.Name+"-storage", "Cluster "+m.facts.Name+": file systems and volumes")
	for _, s := range m.file.SharedStorage {
		m.mounts = append(m.mounts, m.shared(p, s))
	}
	for _, f := range m.work.FileSystems {
		m.mounts = append(m.mounts, m.openZFS(p, f))
	}
	if m.homeOnEFS() {
		m.mounts = append(m.mounts, m.home(p))
	}
	if len(p.Template.Resources) == 0 {
		return nil
	}
	return p.Stack
}

// shared is storage of the file.
func (m *maker) shared(p *part, s spec.SharedStorage) mount {
	one := mount{name: s.Name, kind: s.Kind, dir: s.MountDir}
	one.efs = manifest.EFSMount{EncryptionInTransit: s.EFS.EncryptionInTransit, IAM: s.EFS.IamAuthorization, AccessPoint: s.EFS.AccessPointID}
	if s.EBS.RAIDVolumes > 0 {
		one.raid = strconv.Itoa(s.EBS.RAIDLevel)
	}
	if s.ExistingID != "" {
		return m.existing(one, s.ExistingID)
	}
	one.made = true
	switch policy := cfn.Policy(s.DeletionPolicy); one.kind {
	case spec.EBS:
		return m.volumes(p, one, s.EBS, policy)
	case spec.EFS:
		return m.elastic(p, one, s.EFS, policy)
	case spec.Lustre:
		return m.lustre(p, one, s, policy)
	}
	m.fail("storage %s: an %s is mounted if it exists, and the file has no id of it", one.name, one.kind)
	return one
}

// existing is storage that is there. How it is mounted follows from its id, or is
// what AWS said.
func (m *maker) existing(one mount, id string) mount {
	one.ids = []value{existing(id)}
	switch one.kind {
	case spec.EBS:
		return one
	case spec.EFS:
		one.host, one.export = existing(m.efsHost(id)), existing("/")
		return one
	}
	known, ok := m.facts.FileSystems[id]
	if !ok {
		m.fail("storage %s: %s is not known in %s", one.name, id, m.facts.Region)
	}
	one.host, one.export = existing(known.Host), existing(known.Export)
	return one
}

// domain is the end of the names of AWS's hosts.
func (m *maker) domain() string {
	if m.facts.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func (m *maker) efsHost(id string) string { return id + ".efs." + m.facts.Region + "." + m.domain() }

// homeSubnet is where a file system of one zone is: with the nodes of the first
// queue.
func (m *maker) homeSubnet() value {
	for _, q := range m.file.Scheduling.Queues {
		if all := m.queueSubnets(q); len(all) > 0 {
			return all[0]
		}
	}
	return m.net.head
}

// lustre is a new FSx for Lustre.
func (m *maker) lustre(p *part, one mount, s spec.SharedStorage, policy cfn.Policy) mount {
	id, l := id("Lustre", one.name), s.Lustre
	fs := cfn.FileSystem{
		FileSystemType: "LUSTRE", FileSystemTypeVersion: "2.15", BackupId: l.BackupID,
		StorageCapacity: l.CapacityGiB, StorageType: l.StorageType, KmsKeyId: l.KmsKeyID,
		SubnetIds: []cfn.Text{p.text(m.homeSubnet())}, SecurityGroupIds: []cfn.Text{p.text(m.groups.storage)},
		LustreConfiguration: lustreOf(l), Tags: m.tags(one.name),
	}
	if fs.BackupId != "" {
		fs.FileSystemTypeVersion = "" // the backup's
	}
	p.add(cfn.Resource{ID: id, Policy: policy, Properties: fs})
	one.ids = []value{p.out(id+"Id", id)}
	one.host, one.export = p.out(id+"Host", id+".DNSName"), p.out(id+"MountName", id+".LustreMountName")
	for _, r := range s.Repositories {
		if r.Association != nil {
			m.repository(p, one, id, r, policy)
		}
	}
	return one
}

func lustreOf(s spec.LustreSettings) *cfn.Lustre {
	l := &cfn.Lustre{
		DeploymentType: s.DeploymentType, PerUnitStorageThroughput: s.PerUnitThroughput,
		DataCompressionType: s.DataCompressionType, DriveCacheType: s.DriveCacheType,
		AutoImportPolicy: s.AutoImportPolicy, ImportPath: s.ImportPath, ExportPath: s.ExportPath,
		ImportedFileChunkSize:         s.ImportedFileChunkMiB,
		DailyAutomaticBackupStartTime: s.DailyBackupStartTime,
		WeeklyMaintenanceStartTime:    s.WeeklyMaintenanceTime,
		AutomaticBackupRetentionDays:  s.BackupRetentionDays, CopyTagsToBackups: s.CopyTagsToBackups,
	}
	if s.BackupID != "" {
		l.DeploymentType = "" // the backup's
	}
	if s.StorageType == "HDD" && l.DriveCacheType == "" {
		l.DriveCacheType = "NONE" // a disk has to have one
	}
	return l
}

// repository links a directory with a bucket. It goes with its file system: the
// objects stay in any case.
func (m *maker) repository(p *part, one mount, fs string, r spec.DataRepository, policy cfn.Policy) {
	link := cfn.DataRepository{
		FileSystemId: cfn.Ref(fs), FileSystemPath: r.Association.Path, DataRepositoryPath: r.Association.URI,
		BatchImportMetaDataOnCreate: r.ImportAtFirst, ImportedFileChunkSize: r.Association.ChunkMiB,
		Tags: m.tags(one.name + "-" + r.Name),
	}
	if len(r.AutoImport)+len(r.AutoExport) > 0 {
		link.S3 = &cfn.Synchronization{AutoImportPolicy: events(r.AutoImport), AutoExportPolicy: events(r.AutoExport)}
	}
	p.add(cfn.Resource{ID: id("Link", one.name, r.Name), Policy: policy, Properties: link})
}

func events(names []string) *cfn.Events {
	if len(names) == 0 {
		return nil
	}
	return &cfn.Events{Events: names}
}

// openZFS is a new FSx for OpenZFS of muster.yaml.
func (m *maker) openZFS(p *part, f spec.FileSystem) mount {
	one := mount{name: f.Name, kind: f.Kind, dir: f.MountDir, made: true}
	id := id("OpenZfs", f.Name)
	iops := cfn.DiskIops{Mode: "AUTOMATIC"}
	if f.Iops > 0 {
		iops = cfn.DiskIops{Mode: "USER_PROVISIONED", Iops: f.Iops}
	}
	zfs := &cfn.OpenZFS{
		DeploymentType: f.DeploymentType, ThroughputCapacity: f.ThroughputMBps, DiskIopsConfiguration: iops,
		RootVolumeConfiguration: cfn.RootVolume{
			DataCompressionType: f.Compression,
			NfsExports: []cfn.NfsExport{{ClientConfigurations: []cfn.NfsClient{
				{Clients: "*", Options: []string{"rw", "crossmnt", "no_root_squash"}}, // the security group limits the clients
			}}},
		},
	}
	subnets := []value{m.homeSubnet()}
	if f.DeploymentType == multiZone {
		subnets = m.twoZones(f.Name)
		zfs.PreferredSubnetId, zfs.RouteTableIds = p.text(subnets[0]), p.texts(m.net.routes)
	}
	if f.DeletionPolicy == spec.PolicyDelete {
		zfs.Options = []string{"DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"}
	}
	p.add(cfn.Resource{ID: id, Policy: cfn.Policy(f.DeletionPolicy), Properties: cfn.FileSystem{
		FileSystemType: "OPENZFS", StorageCapacity: f.CapacityGiB, StorageType: "SSD", SubnetIds: p.texts(subnets),
		SecurityGroupIds: []cfn.Text{p.text(m.groups.storage)}, OpenZFSConfiguration: zfs, Tags: m.tags(f.Name),
	}})
	one.ids = []value{p.out(id+"Id", id)}
	one.host, one.export = p.out(id+"Host", id+".DNSName"), existing("/fsx")
	return one
}

// twoZones are subnets in two zones, the nodes' first.
func (m *maker) twoZones(name string) []value {
	home := m.homeSubnet()
	zones := m.zonal()
	for _, s := range zones {
		if s.zone != m.zoneOf(home) {
			return []value{home, s.subnet}
		}
	}
	m.fail("file system %s is in two zones, and all subnets of the cluster are in one", name)
	return []value{home}
}

// place is a subnet and its zone.
type place struct {
	zone   string
	subnet value
}

// zonal is one subnet for each zone in which the cluster has machines.
func (m *maker) zonal() []place {
	var all []place
	seen := map[string]bool{}
	add := func(v value) {
		if zone := m.zoneOf(v); !seen[zone] {
			seen[zone] = true
			all = append(all, place{zone, v})
		}
	}
	for _, q := range m.file.Scheduling.Queues {
		for _, v := range m.queueSubnets(q) {
			add(v)
		}
	}
	for _, v := range m.net.private {
		add(v)
	}
	add(m.net.head)
	for _, pool := range m.file.LoginPools {
		for _, v := range m.poolSubnets(pool) {
			add(v)
		}
	}
	return all
}

func (m *maker) zoneOf(v value) string {
	if v.literal != "" {
		return m.facts.Subnets[v.literal].Zone
	}
	for i, zone := range m.net.zones {
		if v == m.net.private[i] || v == m.net.public[i] {
			return zone
		}
	}
	return ""
}

// elastic is a new EFS of the file.
func (m *maker) elastic(p *part, one mount, s spec.EFSSettings, policy cfn.Policy) mount {
	return m.mountTargets(p, one, id("Efs", one.name), policy, cfn.ElasticFileSystem{
		Encrypted: s.Encrypted, KmsKeyId: s.KmsKeyID, PerformanceMode: s.PerformanceMode,
		ThroughputMode: s.ThroughputMode, ProvisionedThroughputInMibps: s.ProvisionedMBps, FileSystemTags: m.tags(one.name),
	})
}

// home is the EFS of HeadNode/SharedStorageType, for users' homes.
func (m *maker) home(p *part) mount {
	one := mount{name: "home", kind: spec.EFS, dir: home, made: true}
	return m.mountTargets(p, one, "HomeEfs", cfn.Delete, cfn.ElasticFileSystem{
		Encrypted:       m.file.HeadNode.SharedEFSEncrypted,
		PerformanceMode: "generalPurpose", ThroughputMode: "elastic", FileSystemTags: m.tags(one.name),
	})
}

// mountTargets make an EFS with an address in each zone.
func (m *maker) mountTargets(p *part, one mount, id string, policy cfn.Policy, fs cfn.ElasticFileSystem) mount {
	p.add(cfn.Resource{ID: id, Policy: policy, Properties: fs})
	for _, s := range m.zonal() {
		p.add(cfn.Resource{ID: id + "In" + camelZone(s.zone), Policy: policy, Properties: cfn.MountTarget{
			FileSystemId: cfn.Ref(id), SubnetId: p.text(s.subnet), SecurityGroups: []cfn.Text{p.text(m.groups.storage)},
		}})
	}
	one.ids = []value{p.out(id+"Id", id)}
	p.Template.Outputs = append(p.Template.Outputs, cfn.Output{Name: id + "Host", Value: cfn.Sub(m.efsHost("${" + id + "}"))})
	one.host = value{name: id + "Host", home: p}
	one.export = existing("/")
	return one
}

// camelZone is a zone as a part of a logical name: Useast1a.
func camelZone(zone string) string { return id("", zone) }

// volumes are new volumes of EBS, in the head node's zone, which exports them.
func (m *maker) volumes(p *part, one mount, s spec.EBSSettings, policy cfn.Policy) mount {
	volume := cfn.Volume{
		AvailabilityZone: m.net.headZone, Size: s.SizeGiB, VolumeType: s.VolumeType, Iops: s.Iops, Throughput: s.Throughput,
		Encrypted: s.Encrypted, KmsKeyId: s.KmsKeyID, SnapshotId: s.SnapshotID, Tags: m.tags(one.name),
	}
	if s.SnapshotSized {
		volume.Size = 0
	}
	for i := range s.Count() {
		id := volumeID("Volume", one.name, i, s.Count())
		p.add(cfn.Resource{ID: id, Policy: policy, Properties: volume})
		one.ids = append(one.ids, p.out(id+"Id", id))
	}
	return one
}

// volumeID is the logical name of a volume, or of what belongs to it: a storage's
// only one, or one of several.
func volumeID(prefix, storage string, i, count int) string {
	if count == 1 {
		return id(prefix, storage)
	}
	return id(prefix, storage, strconv.Itoa(i+1))
}
