package spec

import (
	"cmp"
	"path"
	"strings"
)

// buildCluster makes the model of a file that was checked.
func buildCluster(name string, root View) *Cluster {
	head, scheduling := root.Key("HeadNode"), root.Key("Scheduling")
	c := &Cluster{
		File:     name,
		Region:   root.Key("Region").Text(),
		OS:       root.Key("Image").Key("Os").Text(),
		HeadNode: HeadNode{InstanceType: head.Key("InstanceType").Text(), ScratchDir: scratchDir(head)},
		Scheduling: Scheduling{
			ScalingStrategy: scheduling.Key("ScalingStrategy").Text(),
			Slurm:           buildSlurm(scheduling.Key("SlurmSettings")),
		},
	}
	c.Tags = buildTags(root)
	c.CustomActions = head.Key("CustomActions").Present()
	for _, q := range scheduling.Key("SlurmQueues").Items() {
		c.Scheduling.Queues = append(c.Scheduling.Queues, buildQueue(q))
		c.CustomActions = c.CustomActions || q.Key("CustomActions").Present()
	}
	c.LoginNodes = len(root.Key("LoginNodes").Key("Pools").Items()) > 0
	for _, s := range root.Key("SharedStorage").Items() {
		c.SharedStorage = append(c.SharedStorage, buildStorage(s))
	}
	return c
}

// scratchDir is the mount point of the own disks of a head node or of a
// queue's ComputeSettings.
func scratchDir(v View) string {
	return mountDir(v.Key("LocalStorage").Key("EphemeralVolume").Key("MountDir"))
}

func buildSlurm(v View) SlurmSettings {
	return SlurmSettings{
		ScaledownIdleMinutes:  v.Key("ScaledownIdletime").Int(),
		MemoryBasedScheduling: v.Key("EnableMemoryBasedScheduling").Bool(),
		Custom:                settingLines(v.Key("CustomSlurmSettings")),
	}
}

func buildQueue(v View) Queue {
	q := Queue{
		Name:         v.Key("Name").Text(),
		CapacityType: v.Key("CapacityType").Text(),
		JobExclusive: v.Key("JobExclusiveAllocation").Bool(),
		ScratchDir:   scratchDir(v.Key("ComputeSettings")),
		RootGiB:      v.At("ComputeSettings.LocalStorage.RootVolume.Size").Int(),
		Reservation:  reservation(v),
		Custom:       settings(v.Key("CustomSlurmSettings")),
		Tags:         buildTags(v),

		AllocationStrategy: v.Key("AllocationStrategy").Text(),
	}
	for _, r := range v.Key("ComputeResources").Items() {
		q.ComputeResources = append(q.ComputeResources, buildResource(r))
	}
	return q
}

func buildTags(v View) []Tag {
	var all []Tag
	for _, item := range v.Key("Tags").Items() {
		all = append(all, Tag{Key: item.Key("Key").Text(), Value: item.Key("Value").Text()})
	}
	return all
}

// reservation is the target of a queue or a compute resource, however it is named.
func reservation(v View) string {
	target := v.Key("CapacityReservationTarget")
	return cmp.Or(target.Key("CapacityReservationId").Text(), target.Key("CapacityReservationResourceGroupArn").Text())
}

func buildResource(v View) ComputeResource {
	r := ComputeResource{
		Name:                 v.Key("Name").Text(),
		MinCount:             v.Key("MinCount").Int(),
		StaticPriority:       v.Key("StaticNodePriority").Int(),
		DynamicPriority:      v.Key("DynamicNodePriority").Int(),
		MaxCount:             v.Key("MaxCount").Int(),
		DisableSMT:           v.Key("DisableSimultaneousMultithreading").Bool(),
		EFA:                  v.Key("Efa").Key("Enabled").Bool(),
		SchedulableMemoryMiB: v.Key("SchedulableMemory").Int(),
		SpotPrice:            v.Key("SpotPrice").Text(),
		Reservation:          reservation(v),
		Custom:               settings(v.Key("CustomSlurmSettings")),
		Tags:                 buildTags(v),
	}
	if single := v.Key("InstanceType"); single.Present() {
		r.InstanceTypes = []string{single.Text()}
	}
	for _, item := range v.Key("Instances").Items() {
		r.InstanceTypes = append(r.InstanceTypes, item.Key("InstanceType").Text())
	}
	return r
}

func buildStorage(v View) SharedStorage {
	s := SharedStorage{
		Name:     v.Key("Name").Text(),
		MountDir: mountDir(v.Key("MountDir")),
		Type:     v.Key("StorageType").Text(),
	}
	lustre := v.Key("FsxLustreSettings")
	if s.Type == "FsxLustre" {
		s.DeploymentType = lustre.Key("DeploymentType").Text()
	}
	s.DeletionPolicy = deletionPolicy(v, s.Type)
	if old := lustre.Key("ImportPath"); old.Present() {
		s.Repositories = append(s.Repositories, buildImport(s, old.Text(), lustre.Key("AutoImportPolicy").Text()))
	}
	for _, r := range lustre.Key("DataRepositoryAssociations").Items() {
		s.Repositories = append(s.Repositories, buildRepository(s, r))
	}
	return s
}

// deletionPolicy is that of a file system which is made with the cluster.
func deletionPolicy(s View, kind string) string {
	settings, id := s, ""
	switch kind {
	case "Ebs":
		settings, id = s.Key("EbsSettings"), "VolumeId"
	case "Efs", "FsxLustre":
		settings, id = s.Key(kind+"Settings"), "FileSystemId"
	default: // the others are made elsewhere
		return ""
	}
	if settings.Key(id).Present() {
		return ""
	}
	return settings.Key("DeletionPolicy").Text()
}

func buildRepository(s SharedStorage, v View) DataRepository {
	bucket, prefix, _ := parseURI(v.Key("DataRepositoryPath").Text())
	return DataRepository{
		Name:       v.Key("Name").Text(),
		Dir:        path.Join(s.MountDir, path.Clean("/"+v.Key("FileSystemPath").Text())),
		Bucket:     bucket,
		Prefix:     prefix,
		AutoExport: v.Key("AutoExportPolicy").Texts(),
		AutoImport: v.Key("AutoImportPolicy").Texts(),

		ImportAtFirst: v.Key("BatchImportMetaDataOnCreate").Bool(),
	}
}

// buildImport is the link that ImportPath makes: the whole file system with a
// location, imported when it is made and then by a policy such as NEW_CHANGED. It exports nothing by itself.
func buildImport(s SharedStorage, uri, policy string) DataRepository {
	bucket, prefix, _ := parseURI(uri)
	r := DataRepository{Name: s.Name, Dir: s.MountDir, Bucket: bucket, Prefix: prefix, ImportAtFirst: true}
	if policy != "" {
		r.AutoImport = strings.Split(policy, "_")
	}
	return r
}
