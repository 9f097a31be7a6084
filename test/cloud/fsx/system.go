package fsx

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	resource
	in      creation
	vpc     string
	mount   string
	volume  string // the root of one of OpenZFS
	nics    []string
	actions []fields
}

func (s *Service) createSystem(ctx context.Context, c *wire.Call, in *creation) (fields, error) {
	if old, err := s.made(in.ClientRequestToken, c); old != nil || err != nil {
		return old, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return s.add(ctx, c, *in)
}

// made answers a request for a file system that was made before.
func (s *Service) made(token string, c *wire.Call) (fields, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.systems.again(s, token, c)
}

// add makes a file system from a request that is good.
func (s *Service) add(ctx context.Context, c *wire.Call, in creation) (fields, error) {
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	f := &system{resource: newResource(c, in.ClientRequestToken, in.Tags), in: in, mount: newID("")[:8]}
	f.id = newID(s.systems.prefix)
	f.system = f.id
	if in.LustreConfiguration != nil && in.LustreConfiguration.DeploymentType == "SCRATCH_1" {
		f.mount = "fsx"
	}
	s.mu.Lock()
	full := s.most > 0 && len(s.systems.all) >= s.most
	s.mu.Unlock()
	if full {
		return nil, wire.Errorf("ServiceLimitExceeded", "You have reached the maximum number of file systems: FILE_SYSTEM_COUNT")
	}
	if err := s.place(ctx, f); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.OpenZFSConfiguration != nil {
		s.addRoot(f)
	}
	return add(s, &s.systems, f, "AVAILABLE", takesToCreate), nil
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

// showSystem follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_FileSystem.html
func (s *Service) showSystem(f *system) fields {
	out := fields{"OwnerId": s.account, "FileSystemType": f.in.FileSystemType, "StorageCapacity": f.in.StorageCapacity, "StorageType": f.in.StorageType,
		"VpcId": f.vpc, "SubnetIds": f.in.SubnetIds, "NetworkInterfaceIds": f.nics, "DNSName": f.id + ".fsx." + s.region + ".amazonaws.com"}
	if f.in.KmsKeyId != "" {
		out["KmsKeyId"] = f.in.KmsKeyId
	}
	if len(f.actions) > 0 {
		done := map[bool]string{true: "COMPLETED", false: "IN_PROGRESS"}[f.life.at(s.clock.Now()) != "UPDATING"]
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

type systemUpdate struct {
	FileSystemId, ClientRequestToken, StorageType, FileSystemTypeVersion string
	StorageCapacity                                                      int
	LustreConfiguration                                                  *lustre
	OpenZFSConfiguration                                                 *openZFS
}

// updateSystem follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_UpdateFileSystem.html
func (s *Service) updateSystem(in *systemUpdate) (fields, error) {
	f, err := s.systems.find(in.FileSystemId)
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
	next.LustreConfiguration = overlaid(next.LustreConfiguration, in.LustreConfiguration)
	next.OpenZFSConfiguration = overlaid(next.OpenZFSConfiguration, in.OpenZFSConfiguration)
	if err := next.check(); err != nil {
		return nil, err
	}
	f.in = next
	f.actions = append(f.actions, fields{"AdministrativeActionType": "FILE_SYSTEM_UPDATE", "RequestTime": epoch(now), "Status": "PENDING"})
	f.life.become(now, "UPDATING", "AVAILABLE", takesToUpdate)
	return fields{"FileSystem": s.systems.describe(s, f)}, nil
}

// overlaid is a value, if there is one, with what the other one sets.
func overlaid[T any](base, with *T) *T {
	if base == nil || with == nil {
		return base
	}
	out := *base
	b, err := json.Marshal(with)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err) // a value of our own types
	}
	return &out
}

// lastBackup is made of what is deleted by whoever does not say otherwise, and has its price:
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_DeleteFileSystemOpenZFSConfiguration.html
func (s *Service) lastBackup(f *system, in *deletion) error {
	if f.in.FileSystemType == "OPENZFS" && in.OpenZFSConfiguration["SkipFinalBackup"] != true {
		add(s, &s.backups, &backup{resource: resource{system: f.id}, in: f.in}, "AVAILABLE", 0)
	}
	return nil
}

// sweep takes away what has gone, with its interfaces and links.
func (s *Service) sweep(ctx context.Context) error {
	var nics []string
	s.mu.Lock()
	now := s.clock.Now()
	lost := map[string]bool{}
	for _, f := range s.systems.all {
		if f.life.at(now) == gone {
			lost[f.id] = true
			nics = append(nics, f.nics...)
		}
	}
	below := func(r *resource) bool { return lost[r.system] }
	alone := func(*resource) bool { return false }
	s.systems.goes(now, alone)
	s.links.goes(now, below)
	s.volumes.goes(now, below)
	s.machines.goes(now, below)
	s.backups.goes(now, alone)
	s.caches.goes(now, alone)
	s.mu.Unlock()
	for _, id := range nics {
		if _, err := s.ec2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &id}); err != nil && !strings.Contains(err.Error(), "NotFound") {
			return fmt.Errorf("delete interface %s: %w", id, err)
		}
	}
	return nil
}
