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
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
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
	systems  shelf[*system]
	links    shelf[*link]
	tasks    shelf[*task]
	backups  shelf[*backup]
	volumes  shelf[*volume]
	machines shelf[*machine]
	caches   shelf[*cache]
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
	s := &Service{clock: clock, region: cfg.Region, ec2: ec2.NewFromConfig(cfg), sts: sts.NewFromConfig(cfg),
		s3: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })}
	s.systems = shelf[*system]{prefix: "fs-", one: "FileSystem", list: "FileSystems", id: "FileSystemId", arn: "file-system",
		code: "FileSystemNotFound", noun: "File system", show: s.showSystem}
	s.links = shelf[*link]{prefix: "dra-", one: "Association", list: "Associations", id: "AssociationId", arn: "association",
		code: "DataRepositoryAssociationNotFound", noun: "Data repository association", show: showLink}
	s.tasks = shelf[*task]{prefix: "task-", one: "DataRepositoryTask", list: "DataRepositoryTasks", id: "TaskId", arn: "task",
		code: "DataRepositoryTaskNotFound", noun: "Data repository task", show: s.showTask}
	s.backups = shelf[*backup]{prefix: "backup-", one: "Backup", list: "Backups", id: "BackupId", arn: "backup",
		code: "BackupNotFound", noun: "Backup", show: showBackup}
	s.volumes = shelf[*volume]{prefix: "fsvol-", one: "Volume", list: "Volumes", id: "VolumeId", arn: "volume", inSystem: true,
		code: "VolumeNotFound", noun: "Volume", show: showVolume}
	s.machines = shelf[*machine]{prefix: "svm-", one: "StorageVirtualMachine", list: "StorageVirtualMachines", id: "StorageVirtualMachineId",
		arn: "storage-virtual-machine", inSystem: true, code: "StorageVirtualMachineNotFound", noun: "Storage virtual machine", show: s.showMachine}
	s.caches = shelf[*cache]{prefix: "fc-", one: "FileCache", list: "FileCaches", id: "FileCacheId", arn: "file-cache",
		code: "FileCacheNotFound", noun: "File cache", show: s.showCache}
	return s
}

// fields are the members of a structure in JSON.
type fields map[string]any

// Answer answers a call to FSx.
func (s *Service) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	do, ok := map[string]act{
		"CreateFileSystem": reads(s.createSystem), "CreateFileSystemFromBackup": reads(s.fromBackup), "DescribeFileSystems": describing(s, &s.systems),
		"UpdateFileSystem": locked(s, s.updateSystem), "DeleteFileSystem": deleting(s, &s.systems, "DELETING", takesToDelete, s.lastBackup),
		"CreateDataRepositoryAssociation": reads(s.createLink), "DescribeDataRepositoryAssociations": describing(s, &s.links),
		"UpdateDataRepositoryAssociation": locked(s, s.updateLink), "DeleteDataRepositoryAssociation": deleting(s, &s.links, "DELETING", takesToLink, nil),
		"CreateDataRepositoryTask": reads(s.createTask), "DescribeDataRepositoryTasks": describing(s, &s.tasks),
		"CreateVolume": locked(s, s.createVolume), "DescribeVolumes": describing(s, &s.volumes),
		"DeleteVolume":                deleting(s, &s.volumes, "DELETING", takesToMount, noRoot),
		"CreateStorageVirtualMachine": locked(s, s.createMachine), "DescribeStorageVirtualMachines": describing(s, &s.machines),
		"CreateFileCache": reads(s.createCache), "DescribeFileCaches": describing(s, &s.caches), "DeleteFileCache": deleting(s, &s.caches, "DELETING", takesToDelete, nil),
		"CreateBackup": locked(s, s.createBackup), "DescribeBackups": describing(s, &s.backups), "DeleteBackup": deleting(s, &s.backups, "DELETED", 0, nil),
		"TagResource": locked(s, s.tag), "UntagResource": locked(s, s.untag),
	}[c.Action]
	if !ok {
		return nil, false
	}
	if err := s.sweep(ctx); err != nil {
		return c.Fault(asFault(err)), true
	}
	out, err := do(ctx, c)
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
	return append(listed(s, &s.systems), listed(s, &s.links)...)
}

func listed[T item](s *Service, x *shelf[T]) []wire.Resource {
	var out []wire.Resource
	for _, one := range x.all {
		r := one.itself()
		if r.life.at(s.clock.Now()) == gone {
			continue
		}
		tags := map[string]string{}
		for _, t := range r.tags {
			tags[t.Key] = t.Value
		}
		out = append(out, wire.Resource{ARN: x.arnOf(s, r), Tags: tags})
	}
	return out
}

// labelled is a request that speaks of the tags of a resource.
type labelled struct {
	ResourceARN string
	Tags        []tag
	TagKeys     []string
}

// tagged finds a resource that can be given tags. Service.mu is held.
func (s *Service) tagged(arn string) (*resource, error) {
	r := cmp.Or(s.systems.having(s, arn), s.links.having(s, arn), s.tasks.having(s, arn))
	if r == nil {
		return nil, wire.Errorf("ResourceNotFound", "The resource %s does not exist", arn)
	}
	return r, nil
}

// having is the resource with an ARN, if there is one.
func (x *shelf[T]) having(s *Service, arn string) *resource {
	for _, one := range x.all {
		if r := one.itself(); x.arnOf(s, r) == arn {
			return r
		}
	}
	return nil
}

func (s *Service) tag(in *labelled) (fields, error) {
	r, err := s.tagged(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		r.tags = append(drop(r.tags, t.Key), t)
	}
	return fields{}, nil
}

func drop(tags []tag, key string) []tag {
	return slices.DeleteFunc(slices.Clone(tags), func(t tag) bool { return t.Key == key })
}

func (s *Service) untag(in *labelled) (fields, error) {
	r, err := s.tagged(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	for _, key := range in.TagKeys {
		r.tags = drop(r.tags, key)
	}
	return fields{}, nil
}

// within says that a path is the other one or lies below it.
func within(path, other string) bool {
	path, other = strings.TrimSuffix(path, "/")+"/", strings.TrimSuffix(other, "/")+"/"
	return strings.HasPrefix(path, other)
}
