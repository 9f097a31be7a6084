package stack

import (
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

const multiZone = "MULTI_AZ_1"

// mount is storage that machines mount: one that is made, or one that exists.
type mount struct {
	name, dir    string
	kind         spec.StorageKind
	ids          []value
	host, export value
	// made says that the cluster makes it.
	made bool
	// efs is how machines mount an EFS, raid the level of an array of volumes.
	efs  manifest.EFSMount
	raid string
}

// site is what the machines are told.
func (m mount) site(v *values) manifest.Storage {
	s := manifest.Storage{Name: m.name, Type: m.kind, MountDir: m.dir, Made: m.made, RAID: m.raid}
	if m.kind == spec.EFS {
		s.EFS = &m.efs
	}
	for _, id := range m.ids {
		s.IDs = append(s.IDs, v.of(id))
	}
	if !m.host.absent() {
		s.Host = v.of(m.host)
	}
	if !m.export.absent() {
		s.Export = v.of(m.export)
	}
	return s
}

// makesFSx reports whether a file system is made that is in one zone.
func (m *maker) makesFSx() bool {
	kinds := m.kindsMade()
	return kinds[spec.Lustre] || kinds[spec.OpenZFS]
}

// homeOnEFS reports whether the file wants users' homes on an EFS: SharedStorageType
// says so, and no other file system is mounted there.
func (m *maker) homeOnEFS() bool {
	if !m.file.HeadNode.SharedEFS || m.file.LocalHomes {
		return false
	}
	return !slices.ContainsFunc(m.file.With(m.work).SharedStorage, func(s spec.SharedStorage) bool { return s.MountDir == home })
}

const home = "/home"

// makesStorage reports whether any is made that machines reach over the network.
func (m *maker) makesStorage() bool {
	kinds := m.kindsMade()
	return kinds[spec.EFS] || kinds[spec.Lustre] || kinds[spec.OpenZFS]
}

// kindsMade are the types of file systems that are made.
func (m *maker) kindsMade() map[spec.StorageKind]bool {
	kinds := map[spec.StorageKind]bool{spec.EFS: m.homeOnEFS()}
	for _, s := range m.file.With(m.work).SharedStorage {
		if s.ExistingID == "" {
			kinds[s.Kind] = true
		}
	}
	return kinds
}

// storageTalks opens the group of the file systems to all machines, on the ports
// that its file systems use.
func (m *maker) storageTalks(p *part) {
	storage := []member{{"Storage", m.groups.storage, true}}
	var clients []member
	for _, all := range [][]member{m.heads(), m.computes(), m.logins()} {
		clients = append(clients, all...)
	}
	kinds := m.kindsMade()
	var rules []cfn.Rule
	if kinds[spec.Lustre] {
		rules = append(rules, lustrePorts()...)
		m.let(p, storage, clients, lustrePorts()) // the servers call back
		for i, r := range lustrePorts() {
			r.SourceSecurityGroupId = p.text(m.groups.storage)
			p.add(cfn.Resource{ID: "StorageFromItselfRule" + strconv.Itoa(i+1), Properties: cfn.Ingress{GroupId: p.text(m.groups.storage), Rule: r}})
		}
	}
	if kinds[spec.EFS] || kinds[spec.OpenZFS] {
		rules = append(rules, cfn.Rule{IpProtocol: "tcp", FromPort: 2049, ToPort: 2049})
	}
	if kinds[spec.OpenZFS] {
		for _, protocol := range []string{"tcp", "udp"} {
			rules = append(rules,
				cfn.Rule{IpProtocol: protocol, FromPort: 111, ToPort: 111},
				cfn.Rule{IpProtocol: protocol, FromPort: 20001, ToPort: 20003})
		}
		rules = append(rules, cfn.Rule{IpProtocol: "udp", FromPort: 2049, ToPort: 2049})
	}
	m.let(p, clients, storage, rules)
}

// lustrePorts are those between servers of Lustre, and between them and clients.
// https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html
func lustrePorts() []cfn.Rule {
	return []cfn.Rule{
		{IpProtocol: "tcp", FromPort: 988, ToPort: 988},
		{IpProtocol: "tcp", FromPort: 1018, ToPort: 1023},
	}
}
