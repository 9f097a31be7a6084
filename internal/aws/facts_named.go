package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// exists finds buckets and log groups that the cluster would make and that are there without
// it. A bucket is there some time before its stack lists it, and a rollback may delete it:
// the stack is asked after the account, and both again if the stack was being changed.
func (q *asker) exists(ctx context.Context) error {
	for {
		there, err := q.there(ctx)
		if err != nil || len(there) == 0 {
			return err
		}
		own, waited, err := q.own(ctx)
		if err != nil {
			return err
		}
		if !waited {
			maps.DeleteFunc(there, func(name string, _ bool) bool { return own[name] })
			q.facts.Exists = there
			return nil
		}
	}
}

// there finds the buckets and the log group in the account.
func (q *asker) there(ctx context.Context) (map[string]bool, error) {
	there := map[string]bool{}
	for _, bucket := range q.workload.Buckets {
		has, err := q.account.HasBucket(ctx, bucket)
		if err != nil {
			return nil, err
		}
		if has {
			there[bucket] = true
		}
	}
	group := logGroup(q.name)
	has, err := q.account.HasLogGroup(ctx, group)
	if has {
		there[group] = true
	}
	return there, err
}
