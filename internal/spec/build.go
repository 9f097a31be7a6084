package spec

import (
	"cmp"
	"path"
	"strconv"
	"strings"
)

// buildCluster makes the model of a file that was checked.
func buildCluster(name string, root View) *Cluster {
	head, scheduling := root.Key("HeadNode"), root.Key("Scheduling")
	image := root.Key("Image").Key("CustomAmi").Text()
	c := &Cluster{
		File:     name,
		Region:   root.Key("Region").Text(),
		OS:       root.Key("Image").Key("Os").Text(),
		HeadNode: buildHead(head, image),
		Scheduling: Scheduling{
			ScalingStrategy: scheduling.Key("ScalingStrategy").Text(),
			Slurm:           buildSlurm(scheduling.Key("SlurmSettings")),
		},
		Monitoring:          buildMonitoring(root.Key("Monitoring")),
		Tags:                buildTags(root),
		CustomS3Bucket:      root.Key("CustomS3Bucket").Text(),
		AdditionalResources: root.Key("AdditionalResources").Text(),
		PermissionsBoundary: root.At("Iam.PermissionsBoundary").Text(),
		ResourcePrefix:      root.At("Iam.ResourcePrefix").Text(),
		OldMetadata:         root.At("Imds.ImdsSupport").Text() == "v1.0",
		LocalHomes:          root.At("DeploymentSettings.DefaultUserHome").Text() == "Local",
		NoSudo:              root.At("DeploymentSettings.DisableSudoAccessForDefaultUser").Bool(),
		Timeouts:            buildTimeouts(root.At("DevSettings.Timeouts")),
		DirectorySecretARN:  root.At("DirectoryService.PasswordSecretArn").Text(),
		EFAInterfaceType:    root.At("DevSettings.EfaInterfaceType").Text(),
	}
	for _, q := range scheduling.Key("SlurmQueues").Items() {
		c.Scheduling.Queues = append(c.Scheduling.Queues, buildQueue(q, image))
	}
	for _, p := range root.Key("LoginNodes").Key("Pools").Items() {
		c.LoginPools = append(c.LoginPools, buildPool(p, c.HeadNode.SSH, image))
	}
	for _, s := range root.Key("SharedStorage").Items() {
		c.SharedStorage = append(c.SharedStorage, buildStorage(s))
	}
	return c
}

// buildHead is the head node; image is the file's for all machines.
func buildHead(v View, image string) HeadNode {
	networking, root := v.Key("Networking"), v.At("LocalStorage.RootVolume")
	h := HeadNode{
		InstanceType: v.Key("InstanceType").Text(),
		ScratchDir:   scratchDir(v),
		RootVolume:   buildRoot(root),
		KeepRoot:     !root.Key("DeleteOnTermination").Bool(),
		DisableSMT:   v.Key("DisableSimultaneousMultithreading").Bool(),
		CustomAMI:    cmp.Or(v.At("Image.CustomAmi").Text(), image),
		ElasticIP:    networking.Key("ElasticIp").Text(),
		SSH:          buildSSH(v.Key("Ssh")),
		DCV:          buildDCV(v.Key("Dcv")),
		IAM:          buildIAM(v.Key("Iam")),
		SharedEFS:    strings.EqualFold(v.Key("SharedStorageType").Text(), string(EFS)),

		SharedEFSEncrypted: v.At("SharedStorageEfsSettings.Encrypted").Bool(),
		SecuredMetadata:    v.At("Imds.Secured").Bool(),
		CustomActions:      buildActions(v.Key("CustomActions")),
	}
	var subnets []string
	if subnet := networking.Key("SubnetId"); subnet.Present() {
		subnets = []string{subnet.Text()}
	}
	h.Networking = buildNetworking(networking, subnets)
	return h
}

// buildPool is a pool of login nodes; ssh is the head node's, image the file's for all
// machines.
func buildPool(v View, ssh SSH, image string) LoginPool {
	own, networking := buildSSH(v.Key("Ssh")), v.Key("Networking")
	return LoginPool{
		Name:         v.Key("Name").Text(),
		InstanceType: v.Key("InstanceType").Text(),
		Count:        v.Key("Count").Int(),
		GraceMinutes: v.Key("GracetimePeriod").Int(),
		CustomAMI:    cmp.Or(v.At("Image.CustomAmi").Text(), image),
		RootVolume:   usualRoot(),
		Networking:   buildNetworking(networking, networking.Key("SubnetIds").Texts()),
		SSH:          SSH{KeyName: cmp.Or(own.KeyName, ssh.KeyName), AllowedIPs: cmp.Or(own.AllowedIPs, ssh.AllowedIPs)},
		DCV:          buildDCV(v.Key("Dcv")),
		IAM:          buildIAM(v.Key("Iam")),

		CustomActions: buildActions(v.Key("CustomActions")),
	}
}

func buildMonitoring(v View) Monitoring {
	logs := v.At("Logs.CloudWatch")
	policy := logs.Key("DeletionPolicy")
	return Monitoring{
		Logs: Logs{
			Enabled: logs.Key("Enabled").Bool(), RetentionDays: logs.Key("RetentionInDays").Int(),
			DeletionPolicy: DeletionPolicy(policy.Text()), Kept: policy.Present() && policy.Text() == string(PolicyRetain),
		},
		Detailed:  v.Key("DetailedMonitoring").Bool(),
		Dashboard: v.At("Dashboards.CloudWatch.Enabled").Bool(),
		Alarms:    v.At("Alarms.Enabled").Bool(),

		LogRotation: v.At("Logs.Rotation.Enabled").Bool(),
	}
}

// scratchDir is the mount point of the own disks of a head node or of a
// queue's ComputeSettings.
func scratchDir(v View) string {
	return mountDir(v.Key("LocalStorage").Key("EphemeralVolume").Key("MountDir"))
}

func buildQueue(v View, image string) Queue {
	networking := v.Key("Networking")
	q := Queue{
		Name:         v.Key("Name").Text(),
		CapacityType: v.Key("CapacityType").Text(),
		JobExclusive: v.Key("JobExclusiveAllocation").Bool(),
		ScratchDir:   scratchDir(v.Key("ComputeSettings")),
		RootVolume:   buildRoot(v.At("ComputeSettings.LocalStorage.RootVolume")),
		CustomAMI:    cmp.Or(v.At("Image.CustomAmi").Text(), image),
		Networking:   buildNetworking(networking, networking.Key("SubnetIds").Texts()),
		IAM:          buildIAM(v.Key("Iam")),
		Reservation:  buildReservation(v, Reservation{}),
		Custom:       settings(v.Key("CustomSlurmSettings")),
		Tags:         buildTags(v),

		AllocationStrategy: v.Key("AllocationStrategy").Text(),
		PlacementGroup:     buildPlacement(networking, PlacementGroup{}),
		CheckGPUs:          v.At("HealthChecks.Gpu.Enabled").Bool(),
		CustomActions:      buildActions(v.Key("CustomActions")),
	}
	if public := networking.Key("AssignPublicIp"); public.Present() {
		q.PublicIP = new(public.Bool())
	}
	for _, r := range v.Key("ComputeResources").Items() {
		q.ComputeResources = append(q.ComputeResources, buildResource(r, q))
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

// buildResource is a compute resource of a queue.
func buildResource(v View, q Queue) ComputeResource {
	r := ComputeResource{
		Name:                 v.Key("Name").Text(),
		MinCount:             v.Key("MinCount").Int(),
		StaticPriority:       v.Key("StaticNodePriority").Int(),
		DynamicPriority:      v.Key("DynamicNodePriority").Int(),
		MaxCount:             v.Key("MaxCount").Int(),
		DisableSMT:           v.Key("DisableSimultaneousMultithreading").Bool(),
		EFA:                  v.Key("Efa").Key("Enabled").Bool(),
		SchedulableMemoryMiB: v.Key("SchedulableMemory").Int(),
		PlacementGroup:       buildPlacement(v.Key("Networking"), q.PlacementGroup),
		Reservation:          buildReservation(v, q.Reservation),
		LaunchTemplate:       buildLaunchTemplate(v.Key("LaunchTemplateOverrides")),
		CheckGPUs:            q.CheckGPUs,
		Custom:               settings(v.Key("CustomSlurmSettings")),
		Tags:                 buildTags(v),
	}
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
