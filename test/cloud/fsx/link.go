package fsx

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

const takesToLink = 3 * time.Minute

// mostLinks is a quota: https://docs.aws.amazon.com/fsx/latest/LustreGuide/limits.html
const mostLinks = 8

// link is a data repository association.
type link struct {
	resource
	in linkRequest
}

type linkRequest struct {
	FileSystemId, FileSystemPath, DataRepositoryPath, ClientRequestToken string
	BatchImportMetaDataOnCreate                                          bool
	ImportedFileChunkSize                                                int
	S3                                                                   *syncs
	Tags                                                                 []tag
}

// syncs says what goes to and fro by itself.
type syncs struct {
	AutoImportPolicy *events `json:",omitempty"`
	AutoExportPolicy *events `json:",omitempty"`
}

type events struct{ Events []string }

func (x *syncs) check() error {
	if x == nil {
		return nil
	}
	for _, p := range []*events{x.AutoImportPolicy, x.AutoExportPolicy} {
		if p == nil {
			continue
		}
		for _, e := range p.Events {
			if !slices.Contains([]string{"NEW", "CHANGED", "DELETED"}, e) {
				return badRequest("Invalid event: %s", e)
			}
		}
	}
	return nil
}

// createLink follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateDataRepositoryAssociation.html
func (s *Service) createLink(ctx context.Context, c *wire.Call, in *linkRequest) (fields, error) {
	if err := in.S3.check(); err != nil {
		return nil, err
	}
	l := &link{resource: newResource(c, in.ClientRequestToken, in.Tags), in: *in}
	l.system = in.FileSystemId
	if l.in.ImportedFileChunkSize <= 0 {
		l.in.ImportedFileChunkSize = 1024
	}
	bucket, ok := strings.CutPrefix(in.DataRepositoryPath, "s3://")
	if bucket, _, _ = strings.Cut(bucket, "/"); !ok || bucket == "" {
		return nil, badRequest("DataRepositoryPath must be s3://bucket/prefix, got %q", in.DataRepositoryPath)
	}
	_, noBucket := s.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, err := s.links.again(s, l.token, c); old != nil || err != nil {
		return old, err
	}
	if err := s.linkable(l); err != nil {
		return nil, err
	}
	end := "AVAILABLE"
	if noBucket != nil {
		end, l.life.why = "FAILED", "Amazon FSx is unable to access the S3 bucket "+bucket
	}
	return add(s, &s.links, l, end, takesToLink), nil
}

// linkable checks that a link fits its file system and the links that it has.
func (s *Service) linkable(l *link) error {
	f, err := s.systems.find(l.system)
	if err != nil {
		return err
	}
	c := f.in.LustreConfiguration
	switch state := f.life.at(s.clock.Now()); {
	case c == nil:
		return wire.Errorf("UnsupportedOperation", "Data repository associations are supported on Lustre file systems only")
	case c.DeploymentType == "SCRATCH_1":
		return wire.Errorf("UnsupportedOperation", "Data repository associations are not supported on SCRATCH_1 file systems")
	case c.ImportPath != "":
		return badRequest("File system '%s' was created with an ImportPath and can have no data repository association", f.id)
	case state != "AVAILABLE" && state != "UPDATING":
		return badRequest("File system '%s' is in state %s", f.id, state)
	case !strings.HasPrefix(l.in.FileSystemPath, "/"):
		return badRequest("FileSystemPath must begin with /, got %q", l.in.FileSystemPath)
	}
	n := 0
	for _, other := range s.links.all {
		if other.system != l.system {
			continue
		}
		if n++; within(l.in.FileSystemPath, other.in.FileSystemPath) || within(other.in.FileSystemPath, l.in.FileSystemPath) {
			return badRequest("FileSystemPath %s overlaps with %s of %s", l.in.FileSystemPath, other.in.FileSystemPath, other.id)
		}
	}
	if n >= mostLinks {
		return wire.Errorf("ServiceLimitExceeded", "File system '%s' has %d data repository associations, the most that are allowed", f.id, n)
	}
	return nil
}

// showLink follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_DataRepositoryAssociation.html
func showLink(l *link) fields {
	out := fields{"FileSystemId": l.system, "FileSystemPath": l.in.FileSystemPath, "DataRepositoryPath": l.in.DataRepositoryPath,
		"BatchImportMetaDataOnCreate": l.in.BatchImportMetaDataOnCreate, "ImportedFileChunkSize": l.in.ImportedFileChunkSize}
	if l.in.S3 != nil {
		out["S3"] = l.in.S3
	}
	return out
}

type linkUpdate struct {
	AssociationId, ClientRequestToken string
	ImportedFileChunkSize             int
	S3                                *syncs
}

func (s *Service) updateLink(in *linkUpdate) (fields, error) {
	if err := in.S3.check(); err != nil {
		return nil, err
	}
	l, err := s.links.find(in.AssociationId)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	if state := l.life.at(now); state != "AVAILABLE" && state != "MISCONFIGURED" {
		return nil, badRequest("Data repository association '%s' is in state %s", l.id, state)
	}
	l.in.S3 = cmp.Or(in.S3, l.in.S3)
	l.in.ImportedFileChunkSize = cmp.Or(in.ImportedFileChunkSize, l.in.ImportedFileChunkSize)
	l.life.why = ""
	l.life.become(now, "UPDATING", "AVAILABLE", takesToLink)
	return fields{"Association": s.links.describe(s, l)}, nil
}
