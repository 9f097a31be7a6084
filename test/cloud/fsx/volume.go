package fsx

import (
	"context"
	"maps"
	"slices"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// describeVolumes lists the root volumes of OpenZFS, the only ones that there are:
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_DescribeVolumes.html
func (s *Service) describeVolumes(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		VolumeIds  []string
		Filters    []filter
		NextToken  string
		MaxResults int
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []fields
	found := map[string]bool{}
	for _, f := range s.systems {
		if f.volume == "" || len(in.VolumeIds) > 0 && !slices.Contains(in.VolumeIds, f.volume) || !passes(in.Filters, map[string]string{"file-system-id": f.id}) {
			continue
		}
		found[f.volume] = true
		root := fields{"VolumePath": "/fsx"}
		maps.Copy(root, f.in.OpenZFSConfiguration.RootVolumeConfiguration)
		all = append(all, fields{"VolumeId": f.volume, "FileSystemId": f.id, "Name": "fsx", "VolumeType": "OPENZFS", "CreationTime": epoch(f.life.made),
			"Lifecycle":   map[bool]string{true: "CREATED", false: "CREATING"}[f.life.at(s.clock.Now()) != "CREATING"],
			"ResourceARN": s.arn("volume", f.id+"/"+f.volume), "OpenZFSConfiguration": root})
	}
	for _, id := range in.VolumeIds {
		if !found[id] {
			return nil, wire.Errorf("VolumeNotFound", "Volume '%s' does not exist.", id)
		}
	}
	some, next, err := page(all, in.NextToken, in.MaxResults)
	return answer("Volumes", some, next), err
}
