package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// fileSystems asks about file systems, caches and volumes.
func (s *survey) fileSystems(ctx context.Context) {
	var volumes, others []string
	for _, name := range s.names(ofFileSystems) {
		switch {
		case strings.HasPrefix(name, "vol-"):
			volumes = append(volumes, name)
		case !slices.Contains(s.wanted.EFS, name):
			others = append(others, name)
		}
	}
	s.batched(ofFileSystems, "ec2:DescribeVolumes", volumes, func(ids ...string) error {
		out, err := s.ec2().DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: ids})
		if err != nil {
			return err
		}
		for _, v := range out.Volumes {
			s.fileSystem(aws.ToString(v.VolumeId), inventory.FileSystem{State: string(v.State), Zone: aws.ToString(v.AvailabilityZone)})
		}
		return nil
	})
	s.eachOne(ofFileSystems, "elasticfilesystem:DescribeFileSystems", s.wanted.EFS, func(id string) error { return s.look(ctx, id, s.efs) })
	s.eachOne(ofFileSystems, "fsx:DescribeFileSystems", others, func(id string) error {
		switch {
		case strings.HasPrefix(id, "fsvol-"):
			return s.look(ctx, id, s.volume)
		case strings.HasPrefix(id, "fc-"):
			return s.look(ctx, id, s.cache)
		}
		return s.look(ctx, id, s.fsx)
	})
}

func (s *survey) look(ctx context.Context, id string, at func(context.Context, string) (inventory.FileSystem, error)) error {
	f, err := at(ctx, id)
	if err == nil {
		s.fileSystem(id, f)
	}
	return err
}

func (s *survey) fileSystem(id string, f inventory.FileSystem) {
	s.answer(func(i *inventory.Inventory) { i.FileSystems = with(i.FileSystems, id, f) })
}

// snapshots asks about snapshots of EBS and backups of FSx.
func (s *survey) snapshots(ctx context.Context) {
	var snapshots, backups []string
	for _, name := range s.names(ofSnapshots) {
		if strings.HasPrefix(name, "backup-") {
			backups = append(backups, name)
		} else {
			snapshots = append(snapshots, name)
		}
	}
	s.batched(ofSnapshots, "ec2:DescribeSnapshots", snapshots, func(ids ...string) error {
		out, err := s.ec2().DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: ids})
		if err != nil {
			return err
		}
		for _, x := range out.Snapshots {
			s.snapshot(aws.ToString(x.SnapshotId), inventory.Snapshot{State: string(x.State), SizeGiB: int(aws.ToInt32(x.VolumeSize))})
		}
		return nil
	})
	s.batched(ofSnapshots, "fsx:DescribeBackups", backups, func(ids ...string) error {
		out, err := fsx.NewFromConfig(s.config).DescribeBackups(ctx, &fsx.DescribeBackupsInput{BackupIds: ids})
		if err != nil {
			return err
		}
		for _, x := range out.Backups {
			s.snapshot(aws.ToString(x.BackupId), inventory.Snapshot{State: string(x.Lifecycle)})
		}
		return nil
	})
}

func (s *survey) snapshot(id string, x inventory.Snapshot) {
	s.answer(func(i *inventory.Inventory) { i.Snapshots = with(i.Snapshots, id, x) })
}

// buckets asks where buckets are. S3 tells that to callers without rights, too.
func (s *survey) buckets(ctx context.Context) {
	s.eachOne(ofBuckets, "s3:ListBucket", s.names(ofBuckets), func(name string) error {
		region, err := regionOf(s.s3().HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name}))
		if err != nil {
			return err
		}
		s.answer(func(i *inventory.Inventory) { i.Buckets = with(i.Buckets, name, inventory.Bucket{Region: region}) })
		return nil
	})
}

// urlLimit is how long a web server may take.
const urlLimit = 10 * time.Second

// urls asks whether scripts and files are there, with our rights: machines have their
// own.
func (s *survey) urls(ctx context.Context) {
	s.eachOne(ofURLs, "s3:GetObject", s.names(ofURLs), func(url string) error {
		bucket, key, isObject := strings.Cut(strings.TrimPrefix(url, "s3://"), "/")
		switch {
		case strings.HasPrefix(url, "s3://") && isObject:
			_, err := s.s3().HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
			if err == nil {
				s.other(ofURLs, url, "")
			}
			return err
		case strings.HasPrefix(url, "https://"), strings.HasPrefix(url, "http://"):
			s.web(ctx, url)
		default:
			s.hidden(ofURLs, url, "only s3:// and https:// can be asked for")
		}
		return nil
	})
}

func (s *survey) web(ctx context.Context, url string) {
	ctx, cancel := context.WithTimeoutCause(ctx, urlLimit, fmt.Errorf("no answer within %s", urlLimit))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, http.NoBody)
	if err != nil {
		s.other(ofURLs, url, "it is no address")
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.hidden(ofURLs, url, err.Error())
		return
	}
	resp.Body.Close()
	switch {
	case resp.StatusCode < http.StatusMultipleChoices:
		s.other(ofURLs, url, "")
	case resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusGone:
		s.hidden(ofURLs, url, "its server answers "+resp.Status)
	}
}
