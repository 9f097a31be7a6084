package fsx

import (
	"maps"
	"strings"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

const takesToMount = time.Minute

// volume is a volume of OpenZFS or ONTAP: the root of a file system, or one that was
// made for itself.
type volume struct {
	resource
	name, kind string
	root       bool
	conf       fields
}

// configurations are the members with what is one kind's own.
var configurations = map[string]string{"OPENZFS": "OpenZFSConfiguration", "ONTAP": "OntapConfiguration"}

func showVolume(v *volume) fields {
	return fields{"FileSystemId": v.system, "Name": v.name, "VolumeType": v.kind, configurations[v.kind]: v.conf}
}

// addRoot gives a file system of OpenZFS its first volume. Service.mu is held.
func (s *Service) addRoot(f *system) {
	v := &volume{resource: resource{system: f.id}, name: "fsx", kind: "OPENZFS", root: true, conf: fields{"VolumePath": "/fsx"}}
	maps.Copy(v.conf, f.in.OpenZFSConfiguration.RootVolumeConfiguration)
	add(s, &s.volumes, v, "CREATED", takesToCreate)
	f.volume = v.id
}

type volumeRequest struct {
	ClientRequestToken, Name, VolumeType     string
	OpenZFSConfiguration, OntapConfiguration fields
	Tags                                     []tag
}

// createVolume follows https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateVolume.html
func (s *Service) createVolume(in *volumeRequest) (fields, error) {
	v := &volume{resource: resource{tags: in.Tags}, name: in.Name, kind: in.VolumeType}
	switch in.VolumeType {
	case "OPENZFS":
		parent, _ := in.OpenZFSConfiguration["ParentVolumeId"].(string)
		above, err := s.volumes.find(parent)
		if err != nil {
			return nil, err
		}
		v.system, v.conf = above.system, maps.Clone(in.OpenZFSConfiguration)
		v.conf["VolumePath"] = above.conf["VolumePath"].(string) + "/" + in.Name
	case "ONTAP":
		id, _ := in.OntapConfiguration["StorageVirtualMachineId"].(string)
		m, err := s.machines.find(id)
		if err != nil {
			return nil, err
		}
		v.system, v.conf = m.system, in.OntapConfiguration
	default:
		return nil, badRequest("Invalid volume type: %s", in.VolumeType)
	}
	return add(s, &s.volumes, v, "CREATED", takesToMount), nil
}

// noRoot refuses to delete a root, which goes with its file system.
func noRoot(v *volume, _ *deletion) error {
	if v.root {
		return wire.Errorf("VolumeNotFound", "Volume '%s' does not exist.", v.id)
	}
	return nil
}

// machine is a storage virtual machine of ONTAP.
type machine struct {
	resource
	name string
}

func (s *Service) showMachine(m *machine) fields {
	host := strings.Join([]string{m.id, m.system, "fsx", s.region, "amazonaws.com"}, ".")
	return fields{"FileSystemId": m.system, "Name": m.name, "Endpoints": fields{"Nfs": fields{"DNSName": host}, "Management": fields{"DNSName": host}}}
}

type machineRequest struct {
	ClientRequestToken, FileSystemId, Name, RootVolumeSecurityStyle, SvmAdminPassword string
	Tags                                                                              []tag
}

// createMachine follows
// https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateStorageVirtualMachine.html
func (s *Service) createMachine(in *machineRequest) (fields, error) {
	f, err := s.systems.find(in.FileSystemId)
	if err != nil {
		return nil, err
	}
	if f.in.OntapConfiguration == nil {
		return nil, wire.Errorf("UnsupportedOperation", "File system '%s' has no storage virtual machines", f.id)
	}
	return add(s, &s.machines, &machine{resource: resource{system: f.id, tags: in.Tags}, name: in.Name}, "CREATED", takesToMount), nil
}
