package stack

import (
	"github.com/muster-hpc/muster/internal/cfn"
	"github.com/muster-hpc/muster/internal/site"
)

// ticket is what machines of a role are told, but for the program.
func (m *maker) ticket(p *part, role string) site.Ticket {
	t := site.Ticket{Cluster: m.facts.Name, Region: m.facts.Region, Bucket: p.sub(m.bucket), Role: role}
	if !m.zone.absent() {
		t.ZoneName = m.zoneName // all machines look for names in it
	}
	if role != site.RoleHead {
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
func userData(t site.Ticket) cfn.Text { return cfn.Base64(cfn.Sub(site.UserData(t))) }
