package aws

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/spec"
)

func (q *asker) fileSystems(ctx context.Context) error {
	q.facts.FileSystems = map[string]inventory.FileSystem{}
	var errs []error
	for _, s := range q.file.Cluster.SharedStorage {
		id := s.ExistingID
		if id == "" || s.Kind == spec.EBS {
			continue
		}
		f, err := q.fileSystem(ctx, s.Kind, id)
		errs = append(errs, err)
		q.facts.FileSystems[id] = f
	}
	return errors.Join(errs...)
}

func (q *asker) fileSystem(ctx context.Context, kind spec.StorageKind, id string) (inventory.FileSystem, error) {
	if kind == spec.EFS {
		return q.account.EFS(ctx, id)
	}
	all, err := q.account.FileSystems(ctx, []string{id})
	return all[id], err
}

func (q *asker) profiles(ctx context.Context) error {
	q.facts.ProfileRoles = map[string][]string{}
	var errs []error
	for _, arn := range q.named("Iam.InstanceProfile") {
		roles, err := q.account.ProfileRoles(ctx, arn)
		q.facts.ProfileRoles[arn] = roles
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// address is the head node's public one, where the file names it.
func (q *asker) address(ctx context.Context) error {
	q.facts.ElasticIPs = map[string]string{}
	text := q.root.At("HeadNode.Networking.ElasticIp").Text()
	if slices.Contains([]string{"", "true", "false"}, strings.ToLower(text)) {
		return nil
	}
	id, err := q.account.Allocation(ctx, text)
	q.facts.ElasticIPs[text] = id
	return err
}

// names are the zone of the nodes' names and the key pair.
func (q *asker) names(ctx context.Context) error {
	if id := q.root.At("Scheduling.SlurmSettings.Dns.HostedZoneId").Text(); id != "" {
		name, err := q.account.ZoneName(ctx, id)
		if err != nil {
			return err
		}
		q.facts.HostedZoneName = name
	}
	if key := q.root.At("HeadNode.Ssh.KeyName").Text(); key != "" {
		return q.account.Key(ctx, key)
	}
	return nil
}

func (q *asker) templates(ctx context.Context) error {
	q.facts.LaunchTemplates = map[string]json.RawMessage{}
	for _, queue := range q.queues() {
		for _, r := range queue.Key("ComputeResources").Items() {
			own := r.Key("LaunchTemplateOverrides")
			if !own.Present() {
				continue
			}
			id, version := own.Key("LaunchTemplateId").Text(), own.Key("Version").Text()
			data, err := q.account.LaunchTemplate(ctx, id, version)
			if err != nil {
				return err
			}
			q.facts.LaunchTemplates[id+":"+version] = data
		}
	}
	return nil
}

// exists are what the cluster would make, and somebody else has made.
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
