package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/stack"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/store"
)

// key imports the user's public key.
func (u *up) key(ctx context.Context) (string, error) {
	switch own := u.File.Cluster.HeadNode.SSH.KeyName; {
	case own != "":
		return own + ", the file's", nil
	case u.facts.KeyName == "":
		return "none: `muster ssh` reaches the head node by Session Manager, other commands do not", nil
	case len(u.PublicKey) == 0:
		return u.facts.KeyName, nil
	}
	return u.facts.KeyName, u.Account.ImportKey(ctx, u.facts.KeyName, u.Name, u.PublicKey)
}

func (u *up) base(ctx context.Context) (string, error) {
	// The record comes first: what is made after it is found again.
	record := Record{Name: u.Name, Region: u.Account.Region, Account: u.who.Account, File: u.Path}
	if err := record.write(u.Home); err != nil {
		return "", err
	}
	in, err := u.widened(ctx, u.set.Base)
	if err != nil {
		return "", err
	}
	detail, err := u.ensure(ctx, u.set.Base, in)
	if err != nil {
		return detail, err
	}
	record.Bucket = u.stacks.bucket(u.Name)
	if record.Bucket == "" {
		return detail, fmt.Errorf("stack %s has no bucket", u.set.Base.Name)
	}
	if err := record.write(u.Home); err != nil {
		return detail, err
	}
	return detail, u.open(ctx)
}

func (u *up) storage(ctx context.Context) (string, error) {
	if u.set.Storage == nil {
		return "no file systems to make", nil
	}
	in, err := u.widened(ctx, u.set.Storage)
	if err != nil {
		return "", err
	}
	detail, err := u.ensure(ctx, u.set.Storage, in)
	if err != nil || u.stacks[u.set.Storage.Name].Protected {
		return detail, err
	}
	// Stacks that are deleted by hand leave the data there, as `muster down` does.
	return detail, u.driver.Protect(ctx, u.set.Storage.Name)
}

// cluster makes the head node and what it starts nodes with. What a former head
// node said, and was told, is forgotten before there is a new one.
func (u *up) cluster(ctx context.Context) (string, error) {
	if state := u.stacks[u.Name]; !state.Good() && !state.InProgress() {
		for _, key := range []string{manifest.HeadKey(u.Name), manifest.FleetKey(u.Name)} {
			if err := u.bucket.Delete(ctx, key); err != nil {
				return "", err
			}
		}
	}
	in, err := u.input(u.set.Cluster)
	if err != nil {
		return "", err
	}
	return u.ensure(ctx, u.set.Cluster, in)
}

// ensure makes a stack what in says and tells of what matters meanwhile.
func (u *up) ensure(ctx context.Context, s *stack.Stack, in cloudformation.Stack) (string, error) {
	name, done, all := "stack "+s.Name, 0, len(s.Template.Resources)
	u.driver.Tell = func(e cloudformation.Event) {
		if e.Matters() {
			done++
		}
		if line := telling(e); line != "" {
			u.Report.Note(line)
		}
	}
	u.driver.Waiting = func(_, status string, since time.Duration) {
		u.Report.Waiting(name, fmt.Sprintf("%s, %d of %s done", inSmall(status), min(done, all), count.Of(all, "resource")), since)
	}
	state, p, err := u.driver.Ensure(ctx, in)
	if err != nil {
		return "", err
	}
	maps.Copy(u.outputs, state.Outputs)
	u.stacks[s.Name] = state
	switch {
	case p.ID == "":
		return "as it is", nil
	case p.Create:
		return count.Of(len(p.Changes), "resource"), nil
	}
	return count.Of(len(p.Changes), "resource") + " changed", nil
}

// slow are the types that take long or cost: their beginning and end are worth a
// line.
var slow = []string{
	"AWS::FSx::FileSystem", "AWS::FSx::DataRepositoryAssociation", "AWS::EFS::FileSystem", "AWS::EC2::NatGateway", "AWS::EC2::Instance", "AWS::EC2::Volume",
	"AWS::ElasticLoadBalancingV2::LoadBalancer", "AWS::AutoScaling::AutoScalingGroup", "AWS::EC2::VPC",
}

// telling is an event in a line; most are not worth one.
func telling(e cloudformation.Event) string {
	text := inSmall(e.Status)
	switch {
	case e.Failed():
		return fmt.Sprintf("%s (%s): %s: %s", e.Resource, e.Type, text, e.Reason)
	case slices.Contains(slow, e.Type) && strings.HasSuffix(e.Status, "_COMPLETE"):
		return strings.TrimSpace(fmt.Sprintf("%s (%s): %s %s", e.Resource, e.Type, text, e.ID))
	case e.Resource == "" && strings.Contains(e.Status, "ROLLBACK_IN_PROGRESS"):
		return "stack " + e.Stack + ": " + text
	}
	return ""
}

// inSmall is a state of CloudFormation in small letters.
func inSmall(status string) string { return strings.ToLower(strings.ReplaceAll(status, "_", " ")) }

// upload puts into the bucket what the machines fetch.
func (u *up) upload(ctx context.Context) (string, error) {
	for _, arch := range slices.Sorted(maps.Keys(u.builds)) {
		if err := u.builds[arch].upload(ctx, u.bucket); err != nil {
			return "", err
		}
	}
	if err := writeJSON(ctx, u.bucket, manifest.FactsKey(u.Name), u.after); err != nil {
		return "", err
	}
	return "muster " + u.after.Version + " for " + strings.Join(slices.Sorted(maps.Keys(u.facts.Programs)), " and "), nil
}

// describe tells the machines what the cluster is. The site comes last: it has the
// revision by which they know that something is new.
func (u *up) describe(ctx context.Context) (string, error) {
	var err error
	if u.site, err = u.set.Site(u.outputs); err != nil {
		return "", err
	}
	u.site.Version, u.site.Types = u.after.Version, catalog.Of(plan.InstanceTypes(u.File.Cluster))
	if u.site.Revision, err = revision(u.Source, u.WorkloadSource, u.site); err != nil {
		return "", err
	}
	var before manifest.Site
	err = readJSON(ctx, u.bucket, manifest.SiteKey(u.Name), &before)
	switch {
	case err == nil && before.Revision == u.site.Revision:
		u.site.Written = before.Written
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return "", err
	default:
		u.site.Written = time.Now().UTC().Truncate(time.Second)
	}
	if err := writeObject(ctx, u.bucket, manifest.FileKey(u.Name), u.Source); err != nil {
		return "", err
	}
	if u.WorkloadSource != nil {
		if err := writeObject(ctx, u.bucket, manifest.WorkloadKey(u.Name), u.WorkloadSource); err != nil {
			return "", err
		}
	}
	return "revision " + u.site.Revision, writeJSON(ctx, u.bucket, manifest.SiteKey(u.Name), u.site)
}

// revision is a digest of all that the machines are told.
func revision(source, workload []byte, s manifest.Site) (string, error) {
	s.Revision, s.Written = "", time.Time{}
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, part := range [][]byte{source, workload, text} {
		fmt.Fprintf(sum, "%d\n", len(part))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// uploadTemplate puts a template where CloudFormation reads it.
func uploadTemplate(ctx context.Context, a *api.Account, s store.Store, cluster, bucket, stack string, template []byte) (string, error) {
	sum := sha256.Sum256(template)
	key := "clusters/" + cluster + "/templates/" + stack + "-" + hex.EncodeToString(sum[:8]) + ".json"
	if err := writeObject(ctx, s, key, template); err != nil {
		return "", err
	}
	return fmt.Sprintf("https://%s.s3.%s.%s/%s", bucket, a.Region, a.Suffix(), key), nil
}
