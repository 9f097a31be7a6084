package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// named takes what the file names by name or ID out of the inventory.
func (q *asker) named() error {
	q.facts.Subnets, q.facts.Reservations, q.facts.FileSystems, q.facts.ProfileRoles = q.have.Subnets, q.have.Reservations, q.have.FileSystems, q.have.ProfileRoles
	q.facts.HostedZoneName = q.have.HostedZones[q.file.Scheduling.Slurm.DNS.HostedZoneID].Name
	q.facts.LaunchTemplates = q.have.Templates
	q.facts.ElasticIPs = map[string]string{}
	for name, a := range q.have.Addresses {
		q.facts.ElasticIPs[name] = a.Allocation
	}
	var errs []error
	for _, n := range []struct{ subject, part string }{
		{"aws/subnet", ""}, {"aws/reservation", "cr-"}, {"aws/file-system", "fs"}, {"aws/file-system", "fc-"}, {"aws/role", ":instance-profile/"},
		{"aws/hosted-zone", ""}, {"aws/key-pair", ""}, {"aws/elastic-ip", ""}, {"aws/launch-template", ""},
	} {
		for _, name := range q.wanted.Names[n.subject] {
			if there, _ := q.have.Has(n.subject, name); !there && strings.Contains(name, n.part) {
				errs = append(errs, q.unknown(n.subject, name))
			}
		}
	}
	return errors.Join(errs...)
}

// unknown is the reason why something that the file names was not found.
func (q *asker) unknown(subject, name string) error {
	return fmt.Errorf("look at %s in %s: %s", name, q.have.Region, q.have.Why(subject, name))
}

// exists finds what the cluster would make and what is there without it.
func (q *asker) exists(ctx context.Context) error {
	q.facts.Exists = map[string]bool{}
	for _, bucket := range q.workload.Buckets {
		there, err := q.account.HasBucket(ctx, bucket)
		if err != nil {
			return err
		}
		q.facts.Exists[bucket] = there && !q.own[bucket]
	}
	group := "/aws/muster/" + q.name
	there, err := q.account.HasLogGroup(ctx, group)
	q.facts.Exists[group] = there && !q.own[group]
	return err
}
