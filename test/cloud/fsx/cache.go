package fsx

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// cache is a file cache.
type cache struct {
	id, vpc, mount string
	size           int
	subnets        []string
	life           life
}

func (s *Service) describeCache(x *cache) fields {
	return fields{"FileCacheId": x.id, "FileCacheType": "LUSTRE", "FileCacheTypeVersion": "2.12", "Lifecycle": x.life.at(s.clock.Now()), "StorageCapacity": x.size,
		"VpcId": x.vpc, "SubnetIds": x.subnets, "DNSName": x.id + ".fsx." + s.region + ".amazonaws.com", "ResourceARN": s.arn("file-cache", x.id),
		"CreationTime":        epoch(x.life.made),
		"LustreConfiguration": fields{"DeploymentType": "CACHE_1", "PerUnitStorageThroughput": 1000, "MountName": x.mount}}
}

// createCache follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileCache.html
func (s *Service) createCache(ctx context.Context, c *wire.Call) (fields, error) {
	var in struct {
		ClientRequestToken, FileCacheType, FileCacheTypeVersion, KmsKeyId string
		StorageCapacity                                                   int
		SubnetIds, SecurityGroupIds                                       []string
		LustreConfiguration                                               map[string]any
		DataRepositoryAssociations                                        []any
		CopyTagsToDataRepositoryAssociations                              bool
		Tags                                                              []tag
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
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
	x := &cache{id: newID("fc-"), vpc: aws.ToString(out.Subnets[0].VpcId), mount: newID("")[:8], size: in.StorageCapacity, subnets: in.SubnetIds}
	x.life.made = s.clock.Now()
	x.life.become(x.life.made, "CREATING", "AVAILABLE", takesToCreate)
	s.caches = append(s.caches, x)
	return fields{"FileCache": s.describeCache(x)}, nil
}

// cache finds a file cache. Service.mu is held.
func (s *Service) cache(id string) (*cache, error) {
	for _, x := range s.caches {
		if x.id == id && x.life.at(s.clock.Now()) != gone {
			return x, nil
		}
	}
	return nil, wire.Errorf("FileCacheNotFound", "File cache '%s' does not exist.", id)
}

func (s *Service) describeCaches(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		FileCacheIds []string
		MaxResults   int
		NextToken    string
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range in.FileCacheIds {
		if _, err := s.cache(id); err != nil {
			return nil, err
		}
	}
	var all []fields
	for _, x := range s.caches {
		if x.life.at(s.clock.Now()) != gone && (len(in.FileCacheIds) == 0 || slices.Contains(in.FileCacheIds, x.id)) {
			all = append(all, s.describeCache(x))
		}
	}
	some, next, err := page(all, in.NextToken, in.MaxResults)
	return answer("FileCaches", some, next), err
}

func (s *Service) deleteCache(_ context.Context, c *wire.Call) (fields, error) {
	var in struct{ FileCacheId, ClientRequestToken string }
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.cache(in.FileCacheId)
	if err != nil {
		return nil, err
	}
	x.life.become(s.clock.Now(), "DELETING", gone, takesToDelete)
	return fields{"FileCacheId": x.id, "Lifecycle": "DELETING"}, nil
}
