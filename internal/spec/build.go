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

func buildRepository(s SharedStorage, v View) DataRepository {
	uri, dir := v.Key("DataRepositoryPath").Text(), v.Key("FileSystemPath").Text()
	bucket, prefix, _ := parseURI(uri)
	return DataRepository{
		Name:       v.Key("Name").Text(),
		Dir:        path.Join(s.MountDir, path.Clean("/"+dir)),
		Bucket:     bucket,
		Prefix:     prefix,
		AutoExport: v.Key("AutoExportPolicy").Texts(),
		AutoImport: v.Key("AutoImportPolicy").Texts(),

		ImportAtFirst: v.Key("BatchImportMetaDataOnCreate").Bool(),
		Association:   &Association{Path: dir, URI: uri, ChunkMiB: v.Key("ImportedFileChunkSize").Int()},
	}
}

// buildImport is the link that ImportPath makes: the whole file system with a
// location, imported when it is made and then by a policy such as NEW_CHANGED. It exports nothing by itself.
func buildImport(s SharedStorage) DataRepository {
	bucket, prefix, _ := parseURI(s.Lustre.ImportPath)
	r := DataRepository{Name: s.Name, Dir: s.MountDir, Bucket: bucket, Prefix: prefix, ImportAtFirst: true}
	if policy := s.Lustre.AutoImportPolicy; policy != "" {
		r.AutoImport = strings.Split(policy, "_")
	}
	return r
}
