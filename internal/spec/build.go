package spec

import (
	"cmp"
	"path"
	"strconv"
	"strings"
)

// buildCluster makes the model of a file that was checked.
func buildCluster(name string, root View) *Cluster {
	image := root.At("Image.CustomAmi").Text()
	c := &Cluster{
		File:        name,
		HeadNode:    buildHead(root.Key("HeadNode"), image),
		OldMetadata: root.At("Imds.ImdsSupport").Text() == "v1.0",
		LocalHomes:  root.At("DeploymentSettings.DefaultUserHome").Text() == "Local",
	}
	root.fill(c)
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		c.Scheduling.Queues = append(c.Scheduling.Queues, buildQueue(q, image))
	}
	for _, p := range root.At("LoginNodes.Pools").Items() {
		c.LoginPools = append(c.LoginPools, buildPool(p, c.HeadNode.SSH, image))
	}
	for _, s := range root.Key("SharedStorage").Items() {
		c.SharedStorage = append(c.SharedStorage, buildStorage(s))
	}
	return c
}

// buildHead is the head node; image is the file's for all machines.
func buildHead(v View, image string) HeadNode {
	h := HeadNode{
		ScratchDir: scratchDir(v),
		KeepRoot:   !v.At("LocalStorage.RootVolume.DeleteOnTermination").Bool(),
		SharedEFS:  strings.EqualFold(v.Key("SharedStorageType").Text(), string(EFS)),
	}
	v.fill(&h)
	h.CustomAMI = cmp.Or(h.CustomAMI, image)
	if subnet := v.At("Networking.SubnetId"); subnet.Present() {
		h.Networking.Subnets = []string{subnet.Text()}
	}
	return h
}

// buildPool is a pool of login nodes; ssh is the head node's, image the file's for all
// machines.
func buildPool(v View, ssh SSH, image string) LoginPool {
	p := LoginPool{RootVolume: usualRoot()}
	v.fill(&p)
	p.CustomAMI = cmp.Or(p.CustomAMI, image)
	p.SSH = SSH{KeyName: cmp.Or(p.SSH.KeyName, ssh.KeyName), AllowedIPs: cmp.Or(p.SSH.AllowedIPs, ssh.AllowedIPs)}
	p.Networking.Subnets = v.At("Networking.SubnetIds").Texts()
	return p
}

func (l *Logs) build(v View) {
	v.fill(l)
	l.Kept = v.Key("DeletionPolicy").Present() && l.DeletionPolicy == PolicyRetain
}

// scratchDir is the mount point of the own disks of a head node or of a
// queue's ComputeSettings.
func scratchDir(v View) string { return mountDir(v.At("LocalStorage.EphemeralVolume.MountDir")) }

func buildQueue(v View, image string) Queue {
	q := Queue{
		ScratchDir:     scratchDir(v.Key("ComputeSettings")),
		Reservation:    buildReservation(v, Reservation{}),
		PlacementGroup: buildPlacement(v.Key("Networking"), PlacementGroup{}),
		Custom:         settings(v.Key("CustomSlurmSettings")),
	}
	v.fill(&q)
	q.CustomAMI = cmp.Or(q.CustomAMI, image)
	q.Networking.Subnets = v.At("Networking.SubnetIds").Texts()
	for _, r := range v.Key("ComputeResources").Items() {
		q.ComputeResources = append(q.ComputeResources, buildResource(r, q))
	}
	return q
}

// buildResource is a compute resource of a queue.
func buildResource(v View, q Queue) ComputeResource {
	r := ComputeResource{
		PlacementGroup: buildPlacement(v.Key("Networking"), q.PlacementGroup),
		Reservation:    buildReservation(v, q.Reservation),
		CheckGPUs:      q.CheckGPUs,
		Custom:         settings(v.Key("CustomSlurmSettings")),
	}
	v.fill(&r)
	if price := v.Key("SpotPrice"); price.Present() {
		r.SpotPrice = strconv.FormatFloat(price.Float(), 'f', -1, 64)
	}
	if own := v.At("HealthChecks.Gpu.Enabled"); own.Present() {
		r.CheckGPUs = own.Bool()
	}
	if single := v.Key("InstanceType"); single.Present() {
		r.InstanceTypes = []string{single.Text()}
	}
	for _, item := range v.Key("Instances").Items() {
		r.Several = true
		r.InstanceTypes = append(r.InstanceTypes, item.Key("InstanceType").Text())
	}
	return r
}

func buildRepository(s SharedStorage, v View) DataRepository {
	uri, dir := v.Key("DataRepositoryPath").Text(), v.Key("FileSystemPath").Text()
	r := DataRepository{
		Dir:         path.Join(s.MountDir, path.Clean("/"+dir)),
		Association: &Association{Path: dir, URI: uri, ChunkMiB: v.Key("ImportedFileChunkSize").Int()},
	}
	r.Bucket, r.Prefix, _ = parseURI(uri)
	v.fill(&r)
	return r
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
