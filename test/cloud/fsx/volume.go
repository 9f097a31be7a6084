package fsx

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

const takesToMount = time.Minute

// volume is a volume of OpenZFS or ONTAP that was made for itself.
type volume struct {
	id, name, kind string
	system         string
	conf           fields
	tags           []tag
	life           life
}

// machine is a storage virtual machine of ONTAP.
type machine struct {
	id, name, system string
	tags             []tag
	life             life
}

// createVolume follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateVolume.html
func (s *Service) createVolume(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		ClientRequestToken, Name, VolumeType     string
		OpenZFSConfiguration, OntapConfiguration fields
		Tags                                     []tag
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &volume{id: newID("fsvol-"), name: in.Name, kind: in.VolumeType, tags: in.Tags}
	switch in.VolumeType {
	case "OPENZFS":
		parent, _ := in.OpenZFSConfiguration["ParentVolumeId"].(string)
		above := s.volumes(parent)
		if len(above) == 0 {
			return nil, noVolume(parent)
		}
		v.system = above[0]["FileSystemId"].(string)
		v.conf = maps.Clone(in.OpenZFSConfiguration)
		v.conf["VolumePath"] = above[0]["OpenZFSConfiguration"].(fields)["VolumePath"].(string) + "/" + in.Name
	case "ONTAP":
		id, _ := in.OntapConfiguration["StorageVirtualMachineId"].(string)
		m, err := s.machine(id)
		if err != nil {
			return nil, err
		}
		v.system, v.conf = m.system, in.OntapConfiguration
	default:
		return nil, badRequest("Invalid volume type: %s", in.VolumeType)
	}
	v.life.made = s.clock.Now()
	v.life.become(v.life.made, "CREATING", "CREATED", takesToMount)
	s.more = append(s.more, v)
	return fields{"Volume": s.volumes(v.id)[0]}, nil
}

func noVolume(id string) error {
	return wire.Errorf("VolumeNotFound", "Volume '%s' does not exist.", id)
}

// volumes describes the volume of an ID, or all: the roots of OpenZFS, and those that
// were made. Service.mu is held.
func (s *Service) volumes(id string) []fields {
	now := s.clock.Now()
	var all []fields
	for _, f := range s.systems {
		if f.volume == "" || id != "" && id != f.volume {
			continue
		}
		root := fields{"VolumePath": "/fsx"}
		maps.Copy(root, f.in.OpenZFSConfiguration.RootVolumeConfiguration)
		all = append(all, fields{"VolumeId": f.volume, "FileSystemId": f.id, "Name": "fsx", "VolumeType": "OPENZFS", "CreationTime": epoch(f.life.made),
			"Lifecycle":   map[bool]string{true: "CREATED", false: "CREATING"}[f.life.at(now) != "CREATING"],
			"ResourceARN": s.arn("volume", f.id+"/"+f.volume), "OpenZFSConfiguration": root})
	}
	for _, v := range s.more {
		if id != "" && id != v.id || v.life.at(now) == gone {
			continue
		}
		one := fields{"VolumeId": v.id, "FileSystemId": v.system, "Name": v.name, "VolumeType": v.kind, "CreationTime": epoch(v.life.made),
			"Lifecycle": v.life.at(now), "ResourceARN": s.arn("volume", v.system+"/"+v.id), "Tags": append([]tag{}, v.tags...)}
		one[map[string]string{"OPENZFS": "OpenZFSConfiguration", "ONTAP": "OntapConfiguration"}[v.kind]] = v.conf
		all = append(all, one)
	}
	return all
}

// describeVolumes follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_DescribeVolumes.html
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
	for _, id := range in.VolumeIds {
		if id == "" || len(s.volumes(id)) == 0 {
			return nil, noVolume(id)
		}
	}
	all := slices.DeleteFunc(s.volumes(""), func(v fields) bool {
		have := map[string]string{"file-system-id": v["FileSystemId"].(string)}
		return len(in.VolumeIds) > 0 && !slices.Contains(in.VolumeIds, v["VolumeId"].(string)) || !passes(in.Filters, have)
	})
	some, next, err := page(all, in.NextToken, in.MaxResults)
	return answer("Volumes", some, next), err
}

// deleteVolume deletes a volume that was made for itself: a root goes with its file
// system.
func (s *Service) deleteVolume(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		VolumeId, ClientRequestToken             string
		OpenZFSConfiguration, OntapConfiguration map[string]any
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.more, func(v *volume) bool { return v.id == in.VolumeId })
	if i < 0 {
		return nil, noVolume(in.VolumeId)
	}
	s.more[i].life.become(s.clock.Now(), "DELETING", gone, takesToMount)
	return fields{"VolumeId": in.VolumeId, "Lifecycle": "DELETING"}, nil
}

// machine finds a storage virtual machine. Service.mu is held.
func (s *Service) machine(id string) (*machine, error) {
	for _, m := range s.machines {
		if m.id == id {
			return m, nil
		}
	}
	return nil, wire.Errorf("StorageVirtualMachineNotFound", "Storage virtual machine '%s' does not exist.", id)
}

func (s *Service) describeMachine(m *machine) fields {
	host := strings.Join([]string{m.id, m.system, "fsx", s.region, "amazonaws.com"}, ".")
	return fields{"StorageVirtualMachineId": m.id, "FileSystemId": m.system, "Name": m.name, "Lifecycle": m.life.at(s.clock.Now()),
		"CreationTime": epoch(m.life.made), "ResourceARN": s.arn("storage-virtual-machine", m.system+"/"+m.id), "Tags": append([]tag{}, m.tags...),
		"Endpoints": fields{"Nfs": fields{"DNSName": host}, "Management": fields{"DNSName": host}}}
}

// createMachine follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateStorageVirtualMachine.html
func (s *Service) createMachine(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		ClientRequestToken, FileSystemId, Name, RootVolumeSecurityStyle, SvmAdminPassword string
		Tags                                                                              []tag
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
	if f.in.OntapConfiguration == nil {
		return nil, wire.Errorf("UnsupportedOperation", "File system '%s' has no storage virtual machines", f.id)
	}
	m := &machine{id: newID("svm-"), name: in.Name, system: f.id, tags: in.Tags}
	m.life.made = s.clock.Now()
	m.life.become(m.life.made, "CREATING", "CREATED", takesToMount)
	s.machines = append(s.machines, m)
	return fields{"StorageVirtualMachine": s.describeMachine(m)}, nil
}

func (s *Service) describeMachines(_ context.Context, c *wire.Call) (fields, error) {
	var in struct {
		StorageVirtualMachineIds []string
		Filters                  []filter
		NextToken                string
		MaxResults               int
	}
	if err := decode(c, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range in.StorageVirtualMachineIds {
		if _, err := s.machine(id); err != nil {
			return nil, err
		}
	}
	var all []fields
	for _, m := range s.machines {
		if (len(in.StorageVirtualMachineIds) == 0 || slices.Contains(in.StorageVirtualMachineIds, m.id)) && passes(in.Filters, map[string]string{"file-system-id": m.system}) {
			all = append(all, s.describeMachine(m))
		}
	}
	some, next, err := page(all, in.NextToken, cmp.Or(in.MaxResults, 100))
	return answer("StorageVirtualMachines", some, next), err
}
