package fsx

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Times of life, of the size that users see; no document gives them.
const (
	takesToCreate = 10 * time.Minute
	takesToUpdate = 5 * time.Minute
	takesToDelete = 3 * time.Minute
)

// system is a file system.
type system struct {
	id, token string
	asked     string // the request as it came, for the token
	in        creation
	tags      []tag
	vpc       string
	mount     string
	volume    string
	nics      []string
	life      life
	actions   []fields
}

// life is a state that ends at a time.
type life struct {
	state, next string
	until       time.Time
	why         string // of a state that is a failure
	made        time.Time
}

func (l life) at(now time.Time) string {
	if l.next != "" && !now.Before(l.until) {
		return l.next
	}
	return l.state
}

func (l *life) become(now time.Time, state, next string, after time.Duration) {
	l.state, l.next, l.until = state, next, now.Add(after)
}

const gone = "gone"

func (s *Service) createSystem(ctx context.Context, c *wire.Call) (fields, error) {
	in := creation{}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	if old, err := s.again(in.ClientRequestToken, string(c.Body)); old != nil || err != nil {
		return old, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return s.add(ctx, in, string(c.Body))
}

// add makes a file system from a request that is good.
func (s *Service) add(ctx context.Context, in creation, asked string) (fields, error) {
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	f := &system{id: newID("fs-"), token: in.ClientRequestToken, asked: asked, in: in, tags: in.Tags, mount: newID("")[:8]}
	if in.LustreConfiguration != nil && in.LustreConfiguration.DeploymentType == "SCRATCH_1" {
		f.mount = "fsx"
	}
	if in.OpenZFSConfiguration != nil {
		f.volume = newID("fsvol-")
	}
	s.mu.Lock()
	full := s.most > 0 && len(s.systems) >= s.most
	s.mu.Unlock()
	if full {
		return nil, wire.Errorf("ServiceLimitExceeded", "You have reached the maximum number of file systems: FILE_SYSTEM_COUNT")
	}
	if err := s.place(ctx, f); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	f.life.made = now
	f.life.become(now, "CREATING", "AVAILABLE", takesToCreate)
	if x := s.harm("file-system"); x != nil {
		f.life.next, f.life.why = x.state, x.why
	}
	s.systems = append(s.systems, f)
	return fields{"FileSystem": s.describe(f)}, nil
}

// again answers a request that was made before with the same token.
func (s *Service) again(token, body string) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.systems {
		if token == "" || f.token != token {
			continue
		}
		if f.asked != body {
			return nil, wire.Errorf("IncompatibleParameterError", "The client request token was used before with other parameters: ClientRequestToken")
		}
		return fields{"FileSystem": s.describe(f)}, nil
	}
	return nil, nil
}

// place puts a file system into its subnets, with an interface in each.
func (s *Service) place(ctx context.Context, f *system) error {
	out, err := s.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: f.in.SubnetIds})
	if err != nil {
		return wire.Errorf("InvalidNetworkSettings", "The subnet IDs %v are not valid: %v", f.in.SubnetIds, err)
	}
	f.vpc = aws.ToString(out.Subnets[0].VpcId)
	if err := s.reachable(ctx, f); err != nil {
		return err
	}
	for _, subnet := range f.in.SubnetIds {
		nic, err := s.ec2.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet, Groups: f.in.SecurityGroupIds,
			Description: aws.String("Created by Amazon FSx. Do not delete. FileSystem: " + f.id)})
		if err != nil {
			return wire.Errorf("InvalidNetworkSettings", "No network interface can be made in %s: %v", subnet, err)
		}
		f.nics = append(f.nics, *nic.NetworkInterface.NetworkInterfaceId)
	}
	return nil
}

// port is the one that the security groups of a file system must let in:
// https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
// https://docs.aws.amazon.com/fsx/latest/OpenZFSGuide/limit-access-security-groups.html
var port = map[string]int32{"LUSTRE": 988}

// reachable checks that a security group lets Lustre's traffic in.
func (s *Service) reachable(ctx context.Context, f *system) error {
	want := port[f.in.FileSystemType]
	if want == 0 || len(f.in.SecurityGroupIds) == 0 {
		return nil
	}
	out, err := s.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: f.in.SecurityGroupIds})
	if err != nil {
		return wire.Errorf("InvalidNetworkSettings", "The security group IDs %v are not valid: %v", f.in.SecurityGroupIds, err)
	}
	for _, g := range out.SecurityGroups {
		for _, p := range g.IpPermissions {
			if aws.ToString(p.IpProtocol) == "-1" || aws.ToString(p.IpProtocol) == "tcp" && aws.ToInt32(p.FromPort) <= want && want <= aws.ToInt32(p.ToPort) {
				return nil
			}
		}
	}
	return wire.Errorf("InvalidNetworkSettings", "The file system cannot be created because the security groups provided do not permit Lustre LNET network traffic on port %d", want)
}

// describe follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_FileSystem.html
func (s *Service) describe(f *system) fields {
	now := s.clock.Now()
	state := f.life.at(now)
	out := fields{"FileSystemId": f.id, "OwnerId": s.account, "CreationTime": epoch(f.life.made), "FileSystemType": f.in.FileSystemType,
		"Lifecycle": state, "StorageCapacity": f.in.StorageCapacity, "StorageType": f.in.StorageType, "VpcId": f.vpc, "SubnetIds": f.in.SubnetIds,
		"NetworkInterfaceIds": f.nics, "DNSName": f.id + ".fsx." + s.region + ".amazonaws.com", "ResourceARN": s.arn("file-system", f.id), "Tags": append([]tag{}, f.tags...)}
	if f.life.why != "" && state == f.life.next {
		out["FailureDetails"] = fields{"Message": f.life.why}
	}
	if f.in.KmsKeyId != "" {
		out["KmsKeyId"] = f.in.KmsKeyId
	}
	if len(f.actions) > 0 {
		done := map[bool]string{true: "COMPLETED", false: "IN_PROGRESS"}[state != "UPDATING"]
		f.actions[len(f.actions)-1]["Status"] = done
		out["AdministrativeActions"] = f.actions
	}
	switch c := f.in; {
	case c.LustreConfiguration != nil:
		out["FileSystemTypeVersion"] = cmp.Or(c.FileSystemTypeVersion, "2.15")
		l := structure(c.LustreConfiguration)
		l["MountName"] = f.mount
		for _, name := range []string{"ImportPath", "ExportPath", "ImportedFileChunkSize", "AutoImportPolicy"} {
			delete(l, name)
		}
		if c.LustreConfiguration.ImportPath != "" {
			l["DataRepositoryConfiguration"] = fields{"Lifecycle": "AVAILABLE", "ImportPath": c.LustreConfiguration.ImportPath,
				"ExportPath": c.LustreConfiguration.ExportPath, "AutoImportPolicy": cmp.Or(c.LustreConfiguration.AutoImportPolicy, "NONE")}
		}
		out["LustreConfiguration"] = l
	case c.OpenZFSConfiguration != nil:
		z := structure(c.OpenZFSConfiguration)
		delete(z, "RootVolumeConfiguration")
		z["RootVolumeId"] = f.volume
		out["OpenZFSConfiguration"] = z
	case c.OntapConfiguration != nil:
		out["OntapConfiguration"] = structure(c.OntapConfiguration)
	}
	return out
}

// structure is a value as fields of JSON.
func structure(v any) fields {
	b, err := json.Marshal(v)
	out := fields{}
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err) // a value of our own types
	}
	return out
}

// system finds a file system. Service.mu is held.
func (s *Service) system(id string) (*system, error) {
	for _, f := range s.systems {
		if f.id == id {
			return f, nil
		}
	}
	return nil, wire.Errorf("FileSystemNotFound", "File system '%s' does not exist.", id)
}

func (s *Service) describeSystems(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		FileSystemIds []string
		MaxResults    int
		NextToken     string
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range in.FileSystemIds {
		if _, err := s.system(id); err != nil {
			return nil, err
		}
	}
	var all []fields
	for _, f := range s.systems {
		if len(in.FileSystemIds) == 0 || slices.Contains(in.FileSystemIds, f.id) {
			all = append(all, s.describe(f))
		}
	}
	some, next, err := page(all, in.NextToken, in.MaxResults)
	return answer("FileSystems", some, next), err
}

func answer(name string, some []fields, next string) fields {
	out := fields{name: some}
	if next != "" {
		out["NextToken"] = next
	}
	return out
}

// updateSystem follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_UpdateFileSystem.html
func (s *Service) updateSystem(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		FileSystemId, ClientRequestToken, StorageType, FileSystemTypeVersion string
		StorageCapacity                                                      int
		LustreConfiguration                                                  *lustre
		OpenZFSConfiguration                                                 *openZFS
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.system(in.FileSystemId)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	if state := f.life.at(now); state != "AVAILABLE" {
		return nil, badRequest("File system '%s' is in state %s and cannot be updated", f.id, state)
	}
	next := f.in
	if n := in.StorageCapacity; n != 0 {
		if n*10 < f.in.StorageCapacity*11 {
			return nil, badRequest("StorageCapacity must grow by 10 percent at least: it is %d GiB, and %d GiB was asked for", f.in.StorageCapacity, n)
		}
		next.StorageCapacity = n
	}
	if in.LustreConfiguration != nil && next.LustreConfiguration != nil {
		next.LustreConfiguration = overlaid(*next.LustreConfiguration, in.LustreConfiguration)
	}
	if in.OpenZFSConfiguration != nil && next.OpenZFSConfiguration != nil {
		next.OpenZFSConfiguration = overlaid(*next.OpenZFSConfiguration, in.OpenZFSConfiguration)
	}
	if err := next.check(); err != nil {
		return nil, err
	}
	f.in = next
	f.actions = append(f.actions, fields{"AdministrativeActionType": "FILE_SYSTEM_UPDATE", "RequestTime": epoch(now), "Status": "PENDING"})
	f.life.become(now, "UPDATING", "AVAILABLE", takesToUpdate)
	return fields{"FileSystem": s.describe(f)}, nil
}

// overlaid is a value with what the other one sets.
func overlaid[T any](base T, with *T) *T {
	b, err := json.Marshal(with)
	if err == nil {
		err = json.Unmarshal(b, &base)
	}
	if err != nil {
		panic(err) // a value of our own types
	}
	return &base
}

func (s *Service) deleteSystem(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		FileSystemId, ClientRequestToken                              string
		LustreConfiguration, OpenZFSConfiguration, OntapConfiguration map[string]any
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.system(in.FileSystemId)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	if f.life.at(now) != "DELETING" {
		// Whoever does not say otherwise gets a backup, and its bill:
		// https://docs.aws.amazon.com/fsx/latest/APIReference/API_DeleteFileSystemOpenZFSConfiguration.html
		if f.in.FileSystemType == "OPENZFS" && in.OpenZFSConfiguration["SkipFinalBackup"] != true {
			s.backups = append(s.backups, &backup{id: newID("backup-"), of: f.id, in: f.in, life: f.life})
		}
		f.life.become(now, "DELETING", gone, takesToDelete)
	}
	return fields{"FileSystemId": f.id, "Lifecycle": "DELETING"}, nil
}

// sweep takes away what has gone, with its interfaces and links.
func (s *Service) sweep(ctx context.Context) error {
	var nics []string
	s.mu.Lock()
	now := s.clock.Now()
	s.systems = slices.DeleteFunc(s.systems, func(f *system) bool {
		if f.life.at(now) != gone {
			return false
		}
		nics = append(nics, f.nics...)
		s.links = slices.DeleteFunc(s.links, func(l *link) bool { return l.system == f.id })
		s.more = slices.DeleteFunc(s.more, func(v *volume) bool { return v.system == f.id })
		s.machines = slices.DeleteFunc(s.machines, func(m *machine) bool { return m.system == f.id })
		return true
	})
	s.links = slices.DeleteFunc(s.links, func(l *link) bool { return l.life.at(now) == gone })
	s.mu.Unlock()
	for _, id := range nics {
		if _, err := s.ec2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &id}); err != nil && !strings.Contains(err.Error(), "NotFound") {
			return fmt.Errorf("delete interface %s: %w", id, err)
		}
	}
	return nil
}
