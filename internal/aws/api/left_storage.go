package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	efstypes "github.com/aws/aws-sdk-go-v2/service/efs/types"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/fsx/types"

	"github.com/muster-hpc/muster/internal/catalog"
)

// FileSystemsOf lists the file systems that have a cluster's tag and are not being
// deleted.
func (a *Account) FileSystemsOf(ctx context.Context, cluster string) ([]Left, error) {
	all, err := a.leftFSx(ctx, cluster)
	if err != nil {
		return nil, err
	}
	more, err := a.leftEFS(ctx, cluster)
	return append(all, more...), err
}

func (a *Account) leftFSx(ctx context.Context, cluster string) ([]Left, error) {
	var all []Left
	for page, err := range pagesOf(ctx, fsx.NewDescribeFileSystemsPaginator(fsx.NewFromConfig(a.config), &fsx.DescribeFileSystemsInput{})) {
		if err != nil {
			return nil, failed(err, "list the file systems of cluster %s", cluster)
		}
		for _, f := range page.FileSystems {
			if f.Lifecycle == types.FileSystemLifecycleDeleting || !slices.ContainsFunc(f.Tags, func(t types.Tag) bool {
				return aws.ToString(t.Key) == ClusterTag && aws.ToString(t.Value) == cluster
			}) {
				continue
			}
			all = append(all, leftFSx(f))
		}
	}
	return all, nil
}

func leftFSx(f types.FileSystem) Left {
	gib := int(aws.ToInt32(f.StorageCapacity))
	l := Left{Kind: "file system", ID: aws.ToString(f.FileSystemId), What: fmt.Sprintf("FSx %s, %d GiB", strings.ToLower(string(f.FileSystemType)), gib)}
	if c := f.LustreConfiguration; c != nil {
		lustre := catalog.Lustre{
			DeploymentType: string(c.DeploymentType), HDD: f.StorageType == types.StorageTypeHdd,
			PerTiB: int(aws.ToInt32(c.PerUnitStorageThroughput)), CapacityGiB: gib,
		}
		if price, ok := lustre.Price(); ok {
			l.USDPerMonth, l.Known = price.USD*float64(gib), true
		}
	}
	if c := f.OpenZFSConfiguration; c != nil {
		if gb, mbps, _, ok := catalog.ZFSPrices(string(c.DeploymentType)); ok {
			l.USDPerMonth, l.Known = gb.USD*float64(gib)+mbps.USD*float64(aws.ToInt32(c.ThroughputCapacity)), true
		}
	}
	return l
}

func (a *Account) leftEFS(ctx context.Context, cluster string) ([]Left, error) {
	var all []Left
	for page, err := range pagesOf(ctx, efs.NewDescribeFileSystemsPaginator(efs.NewFromConfig(a.config), &efs.DescribeFileSystemsInput{})) {
		if err != nil {
			return nil, failed(err, "list the EFS of cluster %s", cluster)
		}
		for _, f := range page.FileSystems {
			if f.LifeCycleState == efstypes.LifeCycleStateDeleting || f.LifeCycleState == efstypes.LifeCycleStateDeleted || !slices.ContainsFunc(f.Tags, func(t efstypes.Tag) bool {
				return aws.ToString(t.Key) == ClusterTag && aws.ToString(t.Value) == cluster
			}) {
				continue
			}
			l := Left{Kind: "file system", ID: aws.ToString(f.FileSystemId), What: "EFS", Known: true}
			if f.SizeInBytes != nil {
				gb, _ := catalog.EFSPrices()
				l.What = fmt.Sprintf("EFS, %.1f GiB", float64(f.SizeInBytes.Value)/(1<<30))
				l.USDPerMonth = gb.USD * float64(f.SizeInBytes.Value) / (1 << 30)
			}
			all = append(all, l)
		}
	}
	return all, nil
}
