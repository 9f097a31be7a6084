package fsx

import (
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
	id, system, token, asked string
	path, repository         string
	chunk                    int
	batch                    bool
	s3                       *syncs
	tags                     []tag
	life                     life
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
func (s *Service) createLink(ctx context.Context, c *wire.Call) (fields, error) {
	var in struct {
		FileSystemId, FileSystemPath, DataRepositoryPath, ClientRequestToken string
		BatchImportMetaDataOnCreate                                          bool
		ImportedFileChunkSize                                                int
		S3                                                                   *syncs
		Tags                                                                 []tag
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	if err := in.S3.check(); err != nil {
		return nil, err
	}
	l := &link{id: newID("dra-"), system: in.FileSystemId, token: in.ClientRequestToken, asked: string(c.Body), path: in.FileSystemPath,
		repository: in.DataRepositoryPath, chunk: max(in.ImportedFileChunkSize, 0), batch: in.BatchImportMetaDataOnCreate, s3: in.S3, tags: in.Tags}
	if l.chunk == 0 {
		l.chunk = 1024
	}
	bucket, ok := strings.CutPrefix(in.DataRepositoryPath, "s3://")
	if bucket, _, _ = strings.Cut(bucket, "/"); !ok || bucket == "" {
		return nil, badRequest("DataRepositoryPath must be s3://bucket/prefix, got %q", in.DataRepositoryPath)
	}
	_, noBucket := s.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.links {
		if l.token != "" && old.token == l.token {
			if old.asked != l.asked {
				return nil, wire.Errorf("IncompatibleParameterError", "The client request token was used before with other parameters: ClientRequestToken")
			}
			return fields{"Association": s.describeLink(old)}, nil
		}
	}
	if err := s.linkable(l); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	l.life.made = now
	l.life.become(now, "CREATING", "AVAILABLE", takesToLink)
	if noBucket != nil {
		l.life.next, l.life.why = "FAILED", "Amazon FSx is unable to access the S3 bucket "+bucket
	}
	if x := s.harm("association"); x != nil {
		l.life.next, l.life.why = x.state, x.why
	}
	s.links = append(s.links, l)
	return fields{"Association": s.describeLink(l)}, nil
}

// linkable checks that a link fits its file system and the links that it has.
func (s *Service) linkable(l *link) error {
	f, err := s.system(l.system)
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
	case !strings.HasPrefix(l.path, "/"):
		return badRequest("FileSystemPath must begin with /, got %q", l.path)
	}
	n := 0
	for _, other := range s.links {
		if other.system != l.system {
			continue
		}
		if n++; within(l.path, other.path) || within(other.path, l.path) {
			return badRequest("FileSystemPath %s overlaps with %s of %s", l.path, other.path, other.id)
		}
	}
	if n >= mostLinks {
		return wire.Errorf("ServiceLimitExceeded", "File system '%s' has %d data repository associations, the most that are allowed", f.id, n)
	}
	return nil
}

// describeLink follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_DataRepositoryAssociation.html
func (s *Service) describeLink(l *link) fields {
	state := l.life.at(s.clock.Now())
	out := fields{"AssociationId": l.id, "ResourceARN": s.arn("association", l.id), "FileSystemId": l.system, "Lifecycle": state, "FileSystemPath": l.path,
		"DataRepositoryPath": l.repository, "BatchImportMetaDataOnCreate": l.batch, "ImportedFileChunkSize": l.chunk,
		"CreationTime": epoch(l.life.made), "Tags": append([]tag{}, l.tags...)}
	if l.s3 != nil {
		out["S3"] = l.s3
	}
	if l.life.why != "" && state == l.life.next {
		out["FailureDetails"] = fields{"Message": l.life.why}
	}
	return out
}

// link finds a link. Service.mu is held.
func (s *Service) link(id string) (*link, error) {
	for _, l := range s.links {
		if l.id == id {
			return l, nil
		}
	}
	return nil, wire.Errorf("DataRepositoryAssociationNotFound", "Data repository association '%s' does not exist.", id)
}

// filter selects by name and values.
type filter struct {
	Name   string
	Values []string
}

// passes says that values by name satisfy all filters.
func passes(filters []filter, have map[string]string) bool {
	for _, f := range filters {
		if !slices.Contains(f.Values, have[f.Name]) {
			return false
		}
	}
	return true
}

func (s *Service) describeLinks(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		AssociationIds []string
		Filters        []filter
		MaxResults     int
		NextToken      string
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range in.AssociationIds {
		if _, err := s.link(id); err != nil {
			return nil, err
		}
	}
	var all []fields
	for _, l := range s.links {
		if (len(in.AssociationIds) == 0 || slices.Contains(in.AssociationIds, l.id)) &&
			passes(in.Filters, map[string]string{"file-system-id": l.system, "data-repository-type": "S3", "file-system-type": "LUSTRE"}) {
			all = append(all, s.describeLink(l))
		}
	}
	some, next, err := page(all, in.NextToken, in.MaxResults)
	return answer("Associations", some, next), err
}

func (s *Service) updateLink(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		AssociationId, ClientRequestToken string
		ImportedFileChunkSize             int
		S3                                *syncs
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	if err := in.S3.check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.link(in.AssociationId)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	if state := l.life.at(now); state != "AVAILABLE" && state != "MISCONFIGURED" {
		return nil, badRequest("Data repository association '%s' is in state %s", l.id, state)
	}
	if in.S3 != nil {
		l.s3 = in.S3
	}
	if in.ImportedFileChunkSize != 0 {
		l.chunk = in.ImportedFileChunkSize
	}
	l.life.why = ""
	l.life.become(now, "UPDATING", "AVAILABLE", takesToLink)
	return fields{"Association": s.describeLink(l)}, nil
}

func (s *Service) deleteLink(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		AssociationId, ClientRequestToken string
		DeleteDataInFileSystem            bool
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.link(in.AssociationId)
	if err != nil {
		return nil, err
	}
	if now := s.clock.Now(); l.life.at(now) != "DELETING" {
		l.life.become(now, "DELETING", gone, takesToLink)
	}
	return fields{"AssociationId": l.id, "Lifecycle": "DELETING", "DeleteDataInFileSystem": in.DeleteDataInFileSystem}, nil
}
