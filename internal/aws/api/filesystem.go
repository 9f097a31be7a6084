package api

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/fsx/types"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// efs is a file system of EFS. It is in the network of its mount targets, if one may look
// at them.
func (a *Account) efs(ctx context.Context, id string) (inventory.FileSystem, error) {
	client := efs.NewFromConfig(a.config)
	out, err := client.DescribeFileSystems(ctx, &efs.DescribeFileSystemsInput{FileSystemId: &id})
	if err != nil {
		return inventory.FileSystem{}, err
	}
	if len(out.FileSystems) == 0 {
		return inventory.FileSystem{}, fmt.Errorf("there is no file system %s", id)
	}
	found := inventory.FileSystem{State: string(out.FileSystems[0].LifeCycleState)}
	if targets, err := client.DescribeMountTargets(ctx, &efs.DescribeMountTargetsInput{FileSystemId: &id}); err == nil {
		for _, t := range targets.MountTargets {
			found.VPC = aws.ToString(t.VpcId)
		}
	}
	return found, nil
}

func (a *Account) fsx(ctx context.Context, id string) (inventory.FileSystem, error) {
	out, err := fsx.NewFromConfig(a.config).DescribeFileSystems(ctx, &fsx.DescribeFileSystemsInput{FileSystemIds: []string{id}})
	if err != nil {
		return inventory.FileSystem{}, err
	}
	if len(out.FileSystems) == 0 {
		return inventory.FileSystem{}, fmt.Errorf("there is no file system %s", id)
	}
	f := out.FileSystems[0]
	found := inventory.FileSystem{VPC: aws.ToString(f.VpcId), State: string(f.Lifecycle), Host: aws.ToString(f.DNSName), Export: "/"}
	if l := f.LustreConfiguration; l != nil {
		found.Export = aws.ToString(l.MountName)
	}
	return found, nil
}

// volume is a volume of OpenZFS or ONTAP: its file system's or virtual machine's
// name, and its own path. A volume of ONTAP is good when it is CREATED.
func (a *Account) volume(ctx context.Context, id string) (inventory.FileSystem, error) {
	client := fsx.NewFromConfig(a.config)
	out, err := client.DescribeVolumes(ctx, &fsx.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return inventory.FileSystem{}, err
	}
	if len(out.Volumes) == 0 {
		return inventory.FileSystem{}, fmt.Errorf("there is no volume %s", id)
	}
	v := out.Volumes[0]
	found, err := a.fsx(ctx, aws.ToString(v.FileSystemId))
	if err != nil {
		return inventory.FileSystem{}, err
	}
	if found.State = string(v.Lifecycle); found.State == "CREATED" {
		found.State = "AVAILABLE"
	}
	if z := v.OpenZFSConfiguration; z != nil {
		found.Export = aws.ToString(z.VolumePath)
	}
	if n := v.OntapConfiguration; n != nil {
		found.Export = aws.ToString(n.JunctionPath)
		found.Host, err = endpoint(ctx, client, aws.ToString(n.StorageVirtualMachineId))
	}
	return found, err
}

// endpoint is where a storage virtual machine of ONTAP answers NFS.
func endpoint(ctx context.Context, client *fsx.Client, id string) (string, error) {
	out, err := client.DescribeStorageVirtualMachines(ctx, &fsx.DescribeStorageVirtualMachinesInput{StorageVirtualMachineIds: []string{id}})
	if err != nil {
		return "", err
	}
	if len(out.StorageVirtualMachines) == 0 || out.StorageVirtualMachines[0].Endpoints == nil || out.StorageVirtualMachines[0].Endpoints.Nfs == nil {
		return "", fmt.Errorf("the storage virtual machine %s has no NFS", id)
	}
	return aws.ToString(out.StorageVirtualMachines[0].Endpoints.Nfs.DNSName), nil
}

// DeleteOpenZFS begins to delete a file system of OpenZFS, with all that is in it and
// without the last backup that FSx makes, and bills, unless it is told otherwise:
// CloudFormation cannot tell it. It says whether there is anything to wait for: not for a
// file system of another kind, nor for one that is gone.
func (a *Account) DeleteOpenZFS(ctx context.Context, id string) (goes bool, err error) {
	client := fsx.NewFromConfig(a.config)
	out, err := client.DescribeFileSystems(ctx, &fsx.DescribeFileSystemsInput{FileSystemIds: []string{id}})
	switch {
	case code(err) == "FileSystemNotFound":
		return false, nil
	case err != nil:
		return false, failed(err, "look at %s in %s", id, a.Region)
	case len(out.FileSystems) == 0 || out.FileSystems[0].FileSystemType != types.FileSystemTypeOpenzfs:
		return false, nil
	case out.FileSystems[0].Lifecycle == types.FileSystemLifecycleDeleting:
		return true, nil
	}
	_, err = client.DeleteFileSystem(ctx, &fsx.DeleteFileSystemInput{FileSystemId: &id, OpenZFSConfiguration: &types.DeleteFileSystemOpenZFSConfiguration{
		SkipFinalBackup: aws.Bool(true), Options: []types.DeleteFileSystemOpenZFSOption{types.DeleteFileSystemOpenZFSOptionDeleteChildVolumesAndSnapshots},
	}})
	if code(err) == "FileSystemNotFound" {
		return false, nil
	}
	if err != nil {
		return false, failed(err, "delete %s in %s", id, a.Region)
	}
	return true, nil
}

func (a *Account) cache(ctx context.Context, id string) (inventory.FileSystem, error) {
	out, err := fsx.NewFromConfig(a.config).DescribeFileCaches(ctx, &fsx.DescribeFileCachesInput{FileCacheIds: []string{id}})
	if err != nil {
		return inventory.FileSystem{}, err
	}
	if len(out.FileCaches) == 0 {
		return inventory.FileSystem{}, fmt.Errorf("there is no cache %s", id)
	}
	c := out.FileCaches[0]
	found := inventory.FileSystem{VPC: aws.ToString(c.VpcId), State: string(c.Lifecycle), Host: aws.ToString(c.DNSName)}
	if c.FileCacheType == types.FileCacheTypeLustre && c.LustreConfiguration != nil {
		found.Export = aws.ToString(c.LustreConfiguration.MountName)
	}
	return found, nil
}
