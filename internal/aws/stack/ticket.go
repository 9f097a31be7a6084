package stack

import (
	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// ticket is what machines of a role are told, but for the program.
func (m *maker) ticket(p *part, role string) manifest.Ticket {
	t := manifest.Ticket{Cluster: m.facts.Name, Region: m.facts.Region, Bucket: p.sub(m.bucket), Role: role}
	if !m.zone.absent() {
		t.ZoneName = m.zoneName // all machines look for names in it
	}
	if role != manifest.RoleHead {
		t.Head = "${" + headAddress + "}"
		return t
	}
	if !m.zone.absent() {
		t.Zone = p.sub(m.zone)
	}
	return t
}

// userData is the script that a machine runs first. It has no ${ of its own: what
// looks so is CloudFormation's to fill in.
func userData(t manifest.Ticket) cfn.Text { return cfn.Base64(cfn.Sub(manifest.UserData(t))) }
