// Package fsx is FSx in the double of AWS: file systems of Lustre, OpenZFS and, at
// the least, ONTAP with their volumes, file caches, links to buckets, and the tasks
// that move data over them.
// No data moves. What is in a state that ends by itself ends by the clock; nothing
// runs between calls.
//
//	CREATING -> AVAILABLE <-> UPDATING; FAILED or MISCONFIGURED if told so; DELETING -> gone
//
// Rules and codes of errors are those of the API reference
// (https://docs.aws.amazon.com/fsx/latest/APIReference/Welcome.html) at the operation
// of the same name; the reference has no texts of errors, so the texts are ours.
package fsx

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Service is FSx.
type Service struct {
	clock  *wire.Clock
	region string
	ec2    *ec2.Client
	s3     *s3.Client
	sts    *sts.Client

	mu       sync.Mutex // guards what follows
	account  string
	systems  []*system
	links    []*link
	tasks    []*task
	backups  []*backup
	more     []*volume // those that are no roots
	machines []*machine
	caches   []*cache
	faults   []fault
	most     int // file systems; 0 is no limit
}

var (
	_ wire.Service = (*Service)(nil)
	_ wire.Tagged  = (*Service)(nil)
)

// New returns an FSx that makes network interfaces by the given configuration's
// endpoint, and looks for buckets there.
func New(cfg aws.Config, clock *wire.Clock) *Service {
	return &Service{clock: clock, region: cfg.Region, ec2: ec2.NewFromConfig(cfg), sts: sts.NewFromConfig(cfg),
		s3: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })}
}

// fields are the members of a structure in JSON.
type fields map[string]any

// Answer answers a call to FSx.
func (s *Service) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	act, ok := map[string]func(context.Context, *wire.Call) (fields, error){
		"CreateFileSystem": s.createSystem, "DescribeFileSystems": s.describeSystems, "UpdateFileSystem": s.updateSystem, "DeleteFileSystem": s.deleteSystem,
		"CreateDataRepositoryAssociation": s.createLink, "DescribeDataRepositoryAssociations": s.describeLinks,
		"UpdateDataRepositoryAssociation": s.updateLink, "DeleteDataRepositoryAssociation": s.deleteLink,
		"CreateDataRepositoryTask": s.createTask, "DescribeDataRepositoryTasks": s.describeTasks, "CancelDataRepositoryTask": s.cancelTask,
		"CreateVolume": s.createVolume, "DescribeVolumes": s.describeVolumes, "DeleteVolume": s.deleteVolume,
		"CreateStorageVirtualMachine": s.createMachine, "DescribeStorageVirtualMachines": s.describeMachines,
		"CreateFileCache": s.createCache, "DescribeFileCaches": s.describeCaches, "DeleteFileCache": s.deleteCache,
		"CreateBackup": s.createBackup, "DescribeBackups": s.describeBackups, "DeleteBackup": s.deleteBackup, "CreateFileSystemFromBackup": s.fromBackup,
		"TagResource": s.tag, "UntagResource": s.untag, "ListTagsForResource": s.listTags,
	}[c.Action]
	if !ok {
		return nil, false
	}
	if err := s.sweep(ctx); err != nil {
		return c.Fault(asFault(err)), true
	}
	out, err := act(ctx, c)
	if err != nil {
		return c.Fault(asFault(err)), true
	}
	return wire.JSON(out), true
}

func asFault(err error) *wire.Error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	return &wire.Error{Status: 500, Code: "InternalServerError", Message: err.Error()}
}

// decode reads a request and refuses what it does not know.
func decode(c *wire.Call, into any) error {
	d := json.NewDecoder(bytes.NewReader(c.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badRequest("the double cannot read the request: %v", err)
	}
	return nil
}

func badRequest(format string, args ...any) error {
	return wire.Errorf("BadRequest", format, args...)
}

// newID is an ID such as fs-0123456789abcdef0.
func newID(prefix string) string {
	var b [9]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])[:17]
}

func (s *Service) arn(kind, id string) string {
	return "arn:aws:fsx:" + s.region + ":" + s.account + ":" + kind + "/" + id
}

// identify learns the account, once.
func (s *Service) identify(ctx context.Context) error {
	s.mu.Lock()
	known := s.account != ""
	s.mu.Unlock()
	if known {
		return nil
	}
	out, err := s.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = *out.Account
	return nil
}

// epoch is a time as JSON 1.1 has it.
func epoch(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// page cuts a list for an answer.
func page(all []fields, token string, most int) (some []fields, next string, err error) {
	from := 0
	if token != "" {
		for from < len(all) && all[from]["ResourceARN"] != token {
			from++
		}
		if from == len(all) {
			return nil, "", badRequest("Invalid NextToken")
		}
	}
	to := len(all)
	if most > 0 && from+most < to {
		to = from + most
		next = all[to]["ResourceARN"].(string)
	}
	return append([]fields{}, all[from:to]...), next, nil
}

// tag is a tag of a resource.
type tag struct{ Key, Value string }

// Tagged implements wire.Tagged.
func (s *Service) Tagged() []wire.Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	var out []wire.Resource
	add := func(arn string, tags []tag) {
		r := wire.Resource{ARN: arn, Tags: map[string]string{}}
		for _, t := range tags {
			r.Tags[t.Key] = t.Value
		}
		out = append(out, r)
	}
	for _, f := range s.systems {
		if f.life.at(now) != gone {
			add(s.arn("file-system", f.id), f.tags)
		}
	}
	for _, l := range s.links {
		if l.life.at(now) != gone {
			add(s.arn("association", l.id), l.tags)
		}
	}
	return out
}

// tagged finds the tags of a resource. Service.mu is held.
func (s *Service) tagged(arn string) (*[]tag, error) {
	for _, f := range s.systems {
		if s.arn("file-system", f.id) == arn {
			return &f.tags, nil
		}
	}
	for _, l := range s.links {
		if s.arn("association", l.id) == arn {
			return &l.tags, nil
		}
	}
	for _, t := range s.tasks {
		if s.arn("task", t.id) == arn {
			return &t.tags, nil
		}
	}
	return nil, wire.Errorf("ResourceNotFound", "The resource %s does not exist", arn)
}

func (s *Service) tag(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		ResourceARN string
		Tags        []tag
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tags, err := s.tagged(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		*tags = append(drop(*tags, t.Key), t)
	}
	return fields{}, nil
}

func drop(tags []tag, key string) []tag {
	var out []tag
	for _, t := range tags {
		if t.Key != key {
			out = append(out, t)
		}
	}
	return out
}

func (s *Service) untag(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		ResourceARN string
		TagKeys     []string
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tags, err := s.tagged(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	for _, key := range in.TagKeys {
		*tags = drop(*tags, key)
	}
	return fields{}, nil
}

func (s *Service) listTags(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		ResourceARN, NextToken string
		MaxResults             int
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tags, err := s.tagged(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	return fields{"Tags": append([]tag{}, *tags...)}, nil
}

// within says that a path is the other one or lies below it.
func within(path, other string) bool {
	path, other = strings.TrimSuffix(path, "/")+"/", strings.TrimSuffix(other, "/")+"/"
	return strings.HasPrefix(path, other)
}
