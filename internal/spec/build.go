package spec

import (
	"path"
	"strings"
)

// buildCluster makes the model of a file that was checked.
func buildCluster(name string, root view) *Cluster {
	head, scheduling := root.key("HeadNode"), root.key("Scheduling")
	c := &Cluster{
		File:     name,
		Region:   root.key("Region").text(),
		OS:       root.key("Image").key("Os").text(),
		HeadNode: HeadNode{InstanceType: head.key("InstanceType").text(), ScratchDir: scratchDir(head)},
		Scheduling: Scheduling{
			ScalingStrategy: scheduling.key("ScalingStrategy").text(),
			Slurm:           buildSlurm(scheduling.key("SlurmSettings")),
		},
	}
	c.CustomActions = head.key("CustomActions").present()
	for _, q := range scheduling.key("SlurmQueues").items() {
		c.Scheduling.Queues = append(c.Scheduling.Queues, buildQueue(q))
		c.CustomActions = c.CustomActions || q.key("CustomActions").present()
	}
	c.LoginNodes = len(root.key("LoginNodes").key("Pools").items()) > 0
	for _, s := range root.key("SharedStorage").items() {
		c.SharedStorage = append(c.SharedStorage, buildStorage(s))
	}
	return c
}

// scratchDir is the mount point of the own disks of a head node or of a
// queue's ComputeSettings.
func scratchDir(v view) string {
	return mountDir(v.key("LocalStorage").key("EphemeralVolume").key("MountDir"))
}

func buildSlurm(v view) SlurmSettings {
	return SlurmSettings{
		ScaledownIdleMinutes:  v.key("ScaledownIdletime").int(),
		MemoryBasedScheduling: v.key("EnableMemoryBasedScheduling").bool(),
		Custom:                settingLines(v.key("CustomSlurmSettings")),
	}
}

func buildQueue(v view) Queue {
	q := Queue{
		Name:         v.key("Name").text(),
		CapacityType: v.key("CapacityType").text(),
		JobExclusive: v.key("JobExclusiveAllocation").bool(),
		ScratchDir:   scratchDir(v.key("ComputeSettings")),
		Custom:       settings(v.key("CustomSlurmSettings")),
	}
	for _, r := range v.key("ComputeResources").items() {
		q.ComputeResources = append(q.ComputeResources, buildResource(r))
	}
	return q
}

func buildResource(v view) ComputeResource {
	r := ComputeResource{
		Name:                 v.key("Name").text(),
		MinCount:             v.key("MinCount").int(),
		MaxCount:             v.key("MaxCount").int(),
		DisableSMT:           v.key("DisableSimultaneousMultithreading").bool(),
		EFA:                  v.key("Efa").key("Enabled").bool(),
		SchedulableMemoryMiB: v.key("SchedulableMemory").int(),
		Custom:               settings(v.key("CustomSlurmSettings")),
	}
	if single := v.key("InstanceType"); single.present() {
		r.InstanceTypes = []string{single.text()}
	}
	for _, item := range v.key("Instances").items() {
		r.InstanceTypes = append(r.InstanceTypes, item.key("InstanceType").text())
	}
	return r
}

func buildStorage(v view) SharedStorage {
	s := SharedStorage{
		Name:     v.key("Name").text(),
		MountDir: mountDir(v.key("MountDir")),
		Type:     v.key("StorageType").text(),
	}
	lustre := v.key("FsxLustreSettings")
	if old := lustre.key("ImportPath"); old.present() {
		s.Repositories = append(s.Repositories, buildImport(s, old.text(), lustre.key("AutoImportPolicy").text()))
	}
	for _, r := range lustre.key("DataRepositoryAssociations").items() {
		s.Repositories = append(s.Repositories, buildRepository(s, r))
	}
	return s
}

func buildRepository(s SharedStorage, v view) DataRepository {
	bucket, prefix, _ := parseURI(v.key("DataRepositoryPath").text())
	return DataRepository{
		Name:       v.key("Name").text(),
		Dir:        path.Join(s.MountDir, path.Clean("/"+v.key("FileSystemPath").text())),
		Bucket:     bucket,
		Prefix:     prefix,
		AutoExport: v.key("AutoExportPolicy").texts(),
		AutoImport: v.key("AutoImportPolicy").texts(),
	}
}

// buildImport is the link that ImportPath makes: the whole file system with a
// location, imported by a policy such as NEW_CHANGED. It exports nothing by itself.
func buildImport(s SharedStorage, uri, policy string) DataRepository {
	bucket, prefix, _ := parseURI(uri)
	r := DataRepository{Name: s.Name, Dir: s.MountDir, Bucket: bucket, Prefix: prefix}
	if policy != "" {
		r.AutoImport = strings.Split(policy, "_")
	}
	return r
}
