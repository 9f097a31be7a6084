package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/stack"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/spec"
)

// memory is what was found out when a cluster was made and holds for as long as it
// is there: a newer image or program would replace its head node. It lies in the
// cluster's bucket.
type memory struct {
	Zones   []string               `json:"zones,omitempty"`
	KeyName string                 `json:"key_name,omitempty"`
	Images  map[string]chosenImage `json:"images"`
	// Programs are muster's builds by architecture, Version is theirs.
	Programs map[string]manifest.Program `json:"programs"`
	Version  string                      `json:"version"`
	// HeadProgram is the one that the head node was made with, if it is another.
	HeadProgram manifest.Program `json:"head_program,omitzero"`
}

// chosenImage is an image and what was asked for.
type chosenImage struct {
	Asked string          `json:"asked"`
	Image inventory.Image `json:"image"`
}

// asker finds the facts of a file: in the inventory, and by asking for what the check
// has no use for.
type asker struct {
	account  *api.Account
	have     inventory.Inventory
	wanted   inventory.Wanted
	name     string
	file     *spec.Cluster
	workload *spec.Workload
	// before is what the cluster was made with, if it is there.
	before memory
	// own returns the IDs of the base stack's resources. Where the stack has an operation in
	// progress, it waits for the end and says so instead.
	own func(context.Context) (ids map[string]bool, waited bool, err error)

	facts    stack.Facts
	after    memory
	problems []error
}

// ask finds everything that the file names. All that is missing is said at once.
func (q *asker) ask(ctx context.Context) error {
	q.problems = append(q.problems, q.named(), q.images())
	for _, f := range []func(context.Context) error{q.zones, q.exists} {
		err := f(ctx)
		if _, stop := errors.AsType[*api.CredentialsError](err); stop {
			return err
		}
		if err == nil {
			err = ctx.Err()
		}
		q.problems = append(q.problems, err)
	}
	return errors.Join(q.problems...)
}

// zones are asked for where the file leaves the network to muster. A cluster stays
// where it is; a new one goes where its reservation is.
func (q *asker) zones(ctx context.Context) error {
	if len(q.file.HeadNode.Networking.Subnets) > 0 {
		return nil
	}
	q.facts.Zones = q.before.Zones
	if len(q.facts.Zones) == 0 {
		if why := q.have.Unasked["aws/instance-type"]; why != "" {
			return fmt.Errorf("ask which zones of %s have the instance types: %s", q.have.Region, why)
		}
		all, err := q.account.Zones(ctx, plan.InstanceTypes(q.file), q.have.Offers)
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(q.facts.Reservations)) {
			if i := slices.Index(all, q.facts.Reservations[id].Zone); i > 0 {
				all = slices.Insert(slices.Delete(all, i, i+1), 0, q.facts.Reservations[id].Zone)
			}
		}
		q.facts.Zones = all
	}
	q.after.Zones = q.facts.Zones
	return nil
}

// images finds the machine image of the head node, each queue and each pool.
func (q *asker) images() error {
	q.facts.Images, q.after.Images = map[string]inventory.Image{}, map[string]chosenImage{}
	errs := []error{q.image("", q.file.HeadNode.CustomAMI, q.file.HeadNode.InstanceType)}
	for _, queue := range q.file.Scheduling.Queues {
		if len(queue.ComputeResources) > 0 && len(queue.ComputeResources[0].InstanceTypes) > 0 {
			errs = append(errs, q.image(queue.Name, queue.CustomAMI, queue.ComputeResources[0].InstanceTypes[0]))
		}
	}
	for _, pool := range q.file.LoginPools {
		errs = append(errs, q.image("login/"+pool.Name, pool.CustomAMI, pool.InstanceType))
	}
	return errors.Join(distinctErrors(errs)...)
}

// distinctErrors says each thing once: queues often have the same image.
func distinctErrors(errs []error) []error {
	var all []error
	seen := map[string]bool{}
	for _, err := range errs {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			all = append(all, err)
		}
	}
	return all
}

// image is that of one user, by the ID in the file if it has one. What was chosen once
// stays until something else is asked for.
func (q *asker) image(user, id, instanceType string) error {
	arch := "amd64"
	if t, ok := catalog.Lookup(instanceType); ok {
		arch = t.Arch
	}
	official := q.wanted.Official
	asked := id
	if id == "" {
		asked = fmt.Sprint(official.Level, official.OS, arch, official.Owner, official.Prefix, official.Tags)
	}
	if was := q.before.Images[user]; was.Asked == asked {
		return q.choose(user, was, arch)
	}
	for _, other := range q.after.Images {
		if other.Asked == asked {
			return q.choose(user, other, arch)
		}
	}
	image, err := q.findImage(id, arch)
	if err != nil {
		return err
	}
	return q.choose(user, chosenImage{Asked: asked, Image: image}, arch)
}

// findImage is an image by its ID, or ParallelCluster's own of an architecture.
func (q *asker) findImage(id, arch string) (inventory.Image, error) {
	image, ok := q.have.Images[id]
	if id == "" {
		image, ok = q.have.OfficialImages[arch]
	}
	switch {
	case ok:
		return image, nil
	case id != "":
		return image, q.unknown("aws/image", id)
	}
	return image, fmt.Errorf("look for ParallelCluster's image for %s and %s: %s", q.wanted.Official.OS, arch, cmp.Or(q.have.Official[arch], q.have.Why("aws/official-image", arch)))
}

func (q *asker) choose(user string, c chosenImage, arch string) error {
	if c.Image.Arch != arch {
		return fmt.Errorf("image %s is for %s, and the instance type of %s for %s", c.Image.ID, c.Image.Arch, cmp.Or(user, "the head node"), arch)
	}
	q.facts.Images[user], q.after.Images[user] = c.Image, c
	return nil
}

// architectures are those of all machines.
func (q *asker) architectures() []string {
	var all []string
	for _, i := range q.facts.Images {
		all = append(all, i.Arch)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// caller is the network from which SSH is allowed where the file does not say. It
// is not known in a place that has no way to the internet.
func caller(ctx context.Context, file *spec.Cluster, ask func(context.Context) (netip.Addr, error)) (netip.Prefix, string) {
	if file.HeadNode.SSH.AllowedIPs != "" {
		return netip.Prefix{}, ""
	}
	address, err := ask(ctx)
	if err != nil {
		return netip.Prefix{}, fmt.Sprintf("our address in the internet is not known (%v): nobody may reach the head node by SSH, only by Session Manager; AllowedIps under HeadNode/Ssh opens it", err)
	}
	return netip.PrefixFrom(address, address.BitLen()), ""
}

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
