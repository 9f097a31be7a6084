package fsx

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// cache is a file cache.
type cache struct {
	resource
	vpc, mount string
	in         cacheRequest
}

func (s *Service) showCache(x *cache) fields {
	return fields{"FileCacheType": "LUSTRE", "FileCacheTypeVersion": "2.12", "StorageCapacity": x.in.StorageCapacity,
		"VpcId": x.vpc, "SubnetIds": x.in.SubnetIds, "DNSName": x.id + ".fsx." + s.region + ".amazonaws.com",
		"LustreConfiguration": fields{"DeploymentType": "CACHE_1", "PerUnitStorageThroughput": 1000, "MountName": x.mount}}
}

type cacheRequest struct {
	ClientRequestToken, FileCacheType, FileCacheTypeVersion, KmsKeyId string
	StorageCapacity                                                   int
	SubnetIds, SecurityGroupIds                                       []string
	LustreConfiguration                                               map[string]any
	DataRepositoryAssociations                                        []any
	CopyTagsToDataRepositoryAssociations                              bool
	Tags                                                              []tag
}

// createCache follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileCache.html
func (s *Service) createCache(ctx context.Context, _ *wire.Call, in *cacheRequest) (fields, error) {
	switch {
	case in.FileCacheType != "LUSTRE" || in.LustreConfiguration == nil:
		return nil, wire.Errorf("MissingFileCacheConfiguration", "A file cache needs FileCacheType LUSTRE and a LustreConfiguration")
	case in.StorageCapacity != 1200 && (in.StorageCapacity <= 0 || in.StorageCapacity%2400 != 0):
		return nil, badRequest("%d GiB is no storage capacity of a file cache", in.StorageCapacity)
	case len(in.SubnetIds) != 1:
		return nil, badRequest("Exactly 1 subnet IDs must be specified, got %d", len(in.SubnetIds))
	}
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	out, err := s.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: in.SubnetIds})
	if err != nil {
		return nil, wire.Errorf("InvalidNetworkSettings", "The subnet IDs %v are not valid: %v", in.SubnetIds, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &cache{vpc: aws.ToString(out.Subnets[0].VpcId), mount: newID("")[:8], in: *in}
	return add(s, &s.caches, x, "AVAILABLE", takesToCreate), nil
}
