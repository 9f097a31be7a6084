package fsx_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/fsx/types"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/test/cloud"
)

// world is an FSx in a network of its own. Its clock goes on when it is told to.
type world struct {
	*testing.T
	cloud  *cloud.Cloud
	fsx    *fsx.Client
	ec2    *ec2.Client
	subnet string
	other  string
	group  string
}

func start(t *testing.T) *world {
	t.Helper()
	c := cloud.Start(t, cloud.Options{Speed: 1})
	w := &world{T: t, cloud: c, fsx: fsx.NewFromConfig(c.Config()), ec2: ec2.NewFromConfig(c.Config())}
	vpc, err := w.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	w.must(err)
	for i, to := range []*string{&w.subnet, &w.other} {
		subnet, err := w.ec2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: aws.String([]string{"10.0.0.0/24", "10.0.1.0/24"}[i])})
		w.must(err)
		*to = *subnet.Subnet.SubnetId
	}
	group, err := w.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{VpcId: vpc.Vpc.VpcId, GroupName: aws.String("fsx"), Description: aws.String("fsx")})
	w.must(err)
	w.group = *group.GroupId
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wantError(err error, code, part string) {
	w.Helper()
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok || e.ErrorCode() != code || !strings.Contains(e.ErrorMessage(), part) {
		w.Errorf("got %v, want %s: ...%s...", err, code, part)
	}
}

// open lets Lustre's traffic into the group.
func (w *world) open() {
	w.Helper()
	_, err := w.ec2.AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &w.group, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(988), ToPort: aws.Int32(988), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &w.group}}}}})
	w.must(err)
}

func (w *world) lustre(tune ...func(*fsx.CreateFileSystemInput)) *fsx.CreateFileSystemInput {
	in := &fsx.CreateFileSystemInput{FileSystemType: types.FileSystemTypeLustre, StorageCapacity: aws.Int32(1200), SubnetIds: []string{w.subnet},
		Tags:                []types.Tag{{Key: aws.String("Name"), Value: aws.String("scratch")}},
		LustreConfiguration: &types.CreateFileSystemLustreConfiguration{DeploymentType: types.LustreDeploymentTypePersistent2, PerUnitStorageThroughput: aws.Int32(125)}}
	for _, f := range tune {
		f(in)
	}
	return in
}

// made makes a file system that is available.
func (w *world) made(tune ...func(*fsx.CreateFileSystemInput)) types.FileSystem {
	w.Helper()
	out, err := w.fsx.CreateFileSystem(w.Context(), w.lustre(tune...))
	w.must(err)
	w.cloud.Clock.Advance(11 * time.Minute)
	return w.system(*out.FileSystem.FileSystemId)
}

func (w *world) system(id string) types.FileSystem {
	w.Helper()
	out, err := w.fsx.DescribeFileSystems(w.Context(), &fsx.DescribeFileSystemsInput{FileSystemIds: []string{id}})
	w.must(err)
	return out.FileSystems[0]
}

func TestAFileSystemLives(t *testing.T) {
	w := start(t)
	in := w.lustre(func(in *fsx.CreateFileSystemInput) {
		in.SecurityGroupIds = []string{w.group}
		in.ClientRequestToken = aws.String("once")
	})
	_, err := w.fsx.CreateFileSystem(t.Context(), in)
	w.wantError(err, "InvalidNetworkSettings", "do not permit Lustre LNET network traffic on port 988")
	w.open()
	out, err := w.fsx.CreateFileSystem(t.Context(), in)
	w.must(err)
	again, err := w.fsx.CreateFileSystem(t.Context(), in)
	w.must(err)
	id := *out.FileSystem.FileSystemId
	if *again.FileSystem.FileSystemId != id {
		t.Error("one token made two file systems")
	}
	in.StorageCapacity = aws.Int32(2400)
	_, err = w.fsx.CreateFileSystem(t.Context(), in)
	w.wantError(err, "IncompatibleParameterError", "ClientRequestToken")
	if out.FileSystem.Lifecycle != "CREATING" {
		t.Errorf("a new file system is %s", out.FileSystem.Lifecycle)
	}
	w.cloud.Clock.Advance(11 * time.Minute)
	f := w.system(id)
	if f.Lifecycle != "AVAILABLE" || *f.DNSName != id+".fsx.us-east-2.amazonaws.com" || len(*f.LustreConfiguration.MountName) != 8 || len(f.NetworkInterfaceIds) != 1 ||
		*f.ResourceARN != "arn:aws:fsx:us-east-2:123456789012:file-system/"+id || *f.Tags[0].Value != "scratch" || f.VpcId == nil || time.Since(*f.CreationTime).Abs() > time.Hour {
		t.Errorf("the file system is %+v", f)
	}
	_, err = w.fsx.UpdateFileSystem(t.Context(), &fsx.UpdateFileSystemInput{FileSystemId: &id, StorageCapacity: aws.Int32(2400)})
	w.must(err)
	if f := w.system(id); f.Lifecycle != "UPDATING" || f.AdministrativeActions[0].Status != "IN_PROGRESS" {
		t.Errorf("it is %s during the update", f.Lifecycle)
	}
	w.cloud.Clock.Advance(6 * time.Minute)
	if f := w.system(id); f.Lifecycle != "AVAILABLE" || *f.StorageCapacity != 2400 {
		t.Errorf("it is %s with %d GiB after the update", f.Lifecycle, *f.StorageCapacity)
	}
	_, err = w.fsx.UpdateFileSystem(t.Context(), &fsx.UpdateFileSystemInput{FileSystemId: &id, StorageCapacity: aws.Int32(1200)})
	w.wantError(err, "BadRequest", "must grow by 10 percent")
	_, err = w.fsx.DeleteFileSystem(t.Context(), &fsx.DeleteFileSystemInput{FileSystemId: &id})
	w.must(err)
	if f := w.system(id); f.Lifecycle != "DELETING" {
		t.Errorf("it is %s after the deletion", f.Lifecycle)
	}
	w.cloud.Clock.Advance(4 * time.Minute)
	_, err = w.fsx.DescribeFileSystems(t.Context(), &fsx.DescribeFileSystemsInput{FileSystemIds: []string{id}})
	w.wantError(err, "FileSystemNotFound", id)
	nics, err := w.ec2.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{})
	w.must(err)
	if len(nics.NetworkInterfaces) > 0 {
		t.Errorf("%d interfaces are left", len(nics.NetworkInterfaces))
	}
}

func TestRequestsAreRefused(t *testing.T) {
	w := start(t)
	lustre := func(f func(*types.CreateFileSystemLustreConfiguration)) func(*fsx.CreateFileSystemInput) {
		return func(in *fsx.CreateFileSystemInput) { f(in.LustreConfiguration) }
	}
	zfs := func(kind types.OpenZFSDeploymentType, rate int32, subnets ...string) func(*fsx.CreateFileSystemInput) {
		return func(in *fsx.CreateFileSystemInput) {
			in.FileSystemType, in.LustreConfiguration, in.SubnetIds = types.FileSystemTypeOpenzfs, nil, subnets
			in.OpenZFSConfiguration = &types.CreateFileSystemOpenZFSConfiguration{DeploymentType: kind, ThroughputCapacity: &rate}
		}
	}
	for name, row := range map[string]struct {
		tune       func(*fsx.CreateFileSystemInput)
		code, part string
	}{
		"size":        {func(in *fsx.CreateFileSystemInput) { in.StorageCapacity = aws.Int32(1300) }, "BadRequest", "1300 GiB"},
		"rate":        {lustre(func(c *types.CreateFileSystemLustreConfiguration) { c.PerUnitStorageThroughput = aws.Int32(200) }), "BadRequest", "[125 250 500 1000]"},
		"two_subnets": {func(in *fsx.CreateFileSystemInput) { in.SubnetIds = []string{w.subnet, w.other} }, "BadRequest", "Exactly 1 subnet"},
		"no_subnet":   {func(in *fsx.CreateFileSystemInput) { in.SubnetIds = []string{"subnet-00000000"} }, "InvalidNetworkSettings", "subnet-00000000"},
		"import_path": {lustre(func(c *types.CreateFileSystemLustreConfiguration) { c.ImportPath = aws.String("s3://x") }), "BadRequest", "data repository association"},
		"disks":       {func(in *fsx.CreateFileSystemInput) { in.StorageType = types.StorageTypeHdd }, "BadRequest", "PERSISTENT_1"},
		"scratch_with_rate": {lustre(func(c *types.CreateFileSystemLustreConfiguration) {
			c.DeploymentType = types.LustreDeploymentTypeScratch2
		}), "BadRequest", "not supported with SCRATCH_2"},
		"efa_without_mode": {lustre(func(c *types.CreateFileSystemLustreConfiguration) { c.EfaEnabled = aws.Bool(true) }), "BadRequest", "MetadataConfiguration"},
		"zfs_rate":         {zfs(types.OpenZFSDeploymentTypeSingleAz2, 64, w.subnet), "BadRequest", "[160 320"},
		"zfs_in_one_zone":  {zfs(types.OpenZFSDeploymentTypeMultiAz1, 160, w.subnet), "BadRequest", "PreferredSubnetId"},
		"zfs_without_setting": {func(in *fsx.CreateFileSystemInput) {
			in.FileSystemType = types.FileSystemTypeOpenzfs
			in.LustreConfiguration = nil
		}, "MissingFileSystemConfiguration", "OpenZFSConfiguration"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.fsx.CreateFileSystem(t.Context(), w.lustre(row.tune))
			(&world{T: t}).wantError(err, row.code, row.part)
		})
	}
	w.cloud.FSx.Limit(1)
	w.made()
	_, err := w.fsx.CreateFileSystem(t.Context(), w.lustre())
	w.wantError(err, "ServiceLimitExceeded", "maximum number")
}

func TestAFileSystemFails(t *testing.T) {
	w := start(t)
	w.cloud.FSx.FailSystem("FAILED", "no disks")
	if f := w.made(); f.Lifecycle != "FAILED" || *f.FailureDetails.Message != "no disks" {
		t.Errorf("it is %s: %v", f.Lifecycle, f.FailureDetails)
	}
	f := w.made()
	if f.Lifecycle != "AVAILABLE" {
		t.Errorf("the next one is %s", f.Lifecycle)
	}
	w.must(w.cloud.FSx.SetState(*f.FileSystemId, "MISCONFIGURED", "a subnet is gone"))
	if f := w.system(*f.FileSystemId); f.Lifecycle != "MISCONFIGURED" || *f.FailureDetails.Message != "a subnet is gone" {
		t.Errorf("it is %s: %v", f.Lifecycle, f.FailureDetails)
	}
}

func TestOpenZFSHasARootVolume(t *testing.T) {
	w := start(t)
	f := w.made(func(in *fsx.CreateFileSystemInput) {
		in.FileSystemType, in.LustreConfiguration, in.StorageCapacity = types.FileSystemTypeOpenzfs, nil, aws.Int32(64)
		in.OpenZFSConfiguration = &types.CreateFileSystemOpenZFSConfiguration{DeploymentType: types.OpenZFSDeploymentTypeSingleAz1, ThroughputCapacity: aws.Int32(64),
			RootVolumeConfiguration: &types.OpenZFSCreateRootVolumeConfiguration{NfsExports: []types.OpenZFSNfsExport{{
				ClientConfigurations: []types.OpenZFSClientConfiguration{{Clients: aws.String("*"), Options: []string{"rw"}}}}}}}
	})
	out, err := w.fsx.DescribeVolumes(t.Context(), &fsx.DescribeVolumesInput{VolumeIds: []string{*f.OpenZFSConfiguration.RootVolumeId}})
	w.must(err)
	if v := out.Volumes[0]; v.Lifecycle != "CREATED" || *v.OpenZFSConfiguration.VolumePath != "/fsx" || *v.OpenZFSConfiguration.NfsExports[0].ClientConfigurations[0].Clients != "*" {
		t.Errorf("the root volume is %+v", v)
	}
}

func TestVolumesAndCachesHaveAddresses(t *testing.T) {
	w := start(t)
	f := w.made(func(in *fsx.CreateFileSystemInput) {
		in.FileSystemType, in.LustreConfiguration, in.StorageCapacity = types.FileSystemTypeOntap, nil, aws.Int32(1024)
		in.OntapConfiguration = &types.CreateFileSystemOntapConfiguration{DeploymentType: types.OntapDeploymentTypeSingleAz1, ThroughputCapacity: aws.Int32(128)}
	})
	m, err := w.fsx.CreateStorageVirtualMachine(t.Context(), &fsx.CreateStorageVirtualMachineInput{FileSystemId: f.FileSystemId, Name: aws.String("svm")})
	w.must(err)
	svm := m.StorageVirtualMachine.StorageVirtualMachineId
	v, err := w.fsx.CreateVolume(t.Context(), &fsx.CreateVolumeInput{Name: aws.String("home"), VolumeType: types.VolumeTypeOntap,
		OntapConfiguration: &types.CreateOntapVolumeConfiguration{JunctionPath: aws.String("/home"), SizeInBytes: aws.Int64(1 << 30), StorageVirtualMachineId: svm}})
	w.must(err)
	w.cloud.Clock.Advance(2 * time.Minute)
	out, err := w.fsx.DescribeVolumes(t.Context(), &fsx.DescribeVolumesInput{VolumeIds: []string{*v.Volume.VolumeId}})
	w.must(err)
	if got := out.Volumes[0]; got.Lifecycle != "CREATED" || *got.OntapConfiguration.JunctionPath != "/home" || *got.FileSystemId != *f.FileSystemId {
		t.Errorf("the volume is %+v", got)
	}
	machines, err := w.fsx.DescribeStorageVirtualMachines(t.Context(), &fsx.DescribeStorageVirtualMachinesInput{StorageVirtualMachineIds: []string{*svm}})
	w.must(err)
	if got, want := *machines.StorageVirtualMachines[0].Endpoints.Nfs.DNSName, *svm+"."+*f.FileSystemId+".fsx.us-east-2.amazonaws.com"; got != want {
		t.Errorf("NFS answers at %s, want %s", got, want)
	}
	c, err := w.fsx.CreateFileCache(t.Context(), &fsx.CreateFileCacheInput{FileCacheType: types.FileCacheTypeLustre, FileCacheTypeVersion: aws.String("2.12"), StorageCapacity: aws.Int32(1200),
		SubnetIds: []string{w.subnet}, LustreConfiguration: &types.CreateFileCacheLustreConfiguration{DeploymentType: types.FileCacheLustreDeploymentTypeCache1,
			PerUnitStorageThroughput: aws.Int32(1000), MetadataConfiguration: &types.FileCacheLustreMetadataConfiguration{StorageCapacity: aws.Int32(2400)}}})
	w.must(err)
	w.cloud.Clock.Advance(11 * time.Minute)
	caches, err := w.fsx.DescribeFileCaches(t.Context(), &fsx.DescribeFileCachesInput{FileCacheIds: []string{*c.FileCache.FileCacheId}})
	w.must(err)
	if got := caches.FileCaches[0]; got.Lifecycle != "AVAILABLE" || *got.LustreConfiguration.MountName == "" || *got.VpcId == "" {
		t.Errorf("the cache is %+v", got)
	}
	_, err = w.fsx.DescribeFileCaches(t.Context(), &fsx.DescribeFileCachesInput{FileCacheIds: []string{"fc-0"}})
	w.wantError(err, "FileCacheNotFound", "fc-0")
}

func TestBackupsBecomeFileSystems(t *testing.T) {
	w := start(t)
	f := w.made()
	b, err := w.fsx.CreateBackup(t.Context(), &fsx.CreateBackupInput{FileSystemId: f.FileSystemId})
	w.must(err)
	out, err := w.fsx.CreateFileSystemFromBackup(t.Context(), &fsx.CreateFileSystemFromBackupInput{BackupId: b.Backup.BackupId, SubnetIds: []string{w.other}})
	w.must(err)
	if got := out.FileSystem; *got.StorageCapacity != 1200 || got.SubnetIds[0] != w.other || got.LustreConfiguration.DeploymentType != "PERSISTENT_2" {
		t.Errorf("the file system is %+v", got)
	}
	_, err = w.fsx.CreateFileSystemFromBackup(t.Context(), &fsx.CreateFileSystemFromBackupInput{BackupId: aws.String("backup-00000001"), SubnetIds: []string{w.other}})
	w.wantError(err, "BackupNotFound", "backup-00000001")
}

func TestFileSystemsHavePages(t *testing.T) {
	w := start(t)
	for range 5 {
		w.made()
	}
	n := 0
	pages := fsx.NewDescribeFileSystemsPaginator(w.fsx, &fsx.DescribeFileSystemsInput{MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		w.must(err)
		n += len(page.FileSystems)
	}
	if n != 5 {
		t.Errorf("%d file systems in pages, want 5", n)
	}
}
