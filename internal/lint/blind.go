package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// blind says what only AWS knows: one diagnostic for each subject, at its first
// place in the file.
func blind(root spec.View, all []resource) {
	for _, s := range subjects() {
		s.report(root, unasked)
	}
	offered(root, unasked)
	reserved(all, unasked)
	quota(root, all, unasked)
}

// unasked is the hint of everything here.
const unasked = "only AWS knows; nothing was asked"

// subject is a kind of thing in an AWS account that a file names.
type subject struct {
	code, one, many string
	// unknown is what is not looked up.
	unknown string
	// places are where a file names it; "[]" is every entry of a list.
	places []string
}

// nodeGroups are the places of head node, login nodes and queues.
var nodeGroups = []string{"HeadNode", "LoginNodes.Pools[]", "Scheduling.SlurmQueues[]"}

// ofNodes are places below each of nodeGroups.
func ofNodes(below ...string) []string {
	var all []string
	for _, group := range nodeGroups {
		for _, b := range below {
			all = append(all, group+"."+b)
		}
	}
	return all
}

// subjects are all of them but those with a rule of their own below.
func subjects() []subject {
	return []subject{
		{"aws/subnet", "subnet", "subnets", "existence, VPC and DNS, zone, route and free addresses", []string{
			"HeadNode.Networking.SubnetId", "LoginNodes.Pools[].Networking.SubnetIds[]", "Scheduling.SlurmQueues[].Networking.SubnetIds[]",
			"DeploymentSettings.LambdaFunctionsVpcConfig.SubnetIds[]"}},
		{"aws/security-group", "security group", "security groups", "existence, and rules for nodes, EFA and file systems",
			append(ofNodes("Networking.SecurityGroups[]", "Networking.AdditionalSecurityGroups[]"),
				"DeploymentSettings.LambdaFunctionsVpcConfig.SecurityGroupIds[]")},
		{"aws/elastic-ip", "elastic address", "elastic addresses", "existence in the account",
			[]string{"HeadNode.Networking.ElasticIp"}},
		{"aws/placement-group", "placement group", "placement groups", "existence, and fit with reservations", []string{
			"Scheduling.SlurmQueues[].Networking.PlacementGroup.Name", "Scheduling.SlurmQueues[].Networking.PlacementGroup.Id",
			"Scheduling.SlurmQueues[].ComputeResources[].Networking.PlacementGroup.Name",
			"Scheduling.SlurmQueues[].ComputeResources[].Networking.PlacementGroup.Id"}},
		{"aws/key-pair", "key pair", "key pairs", "existence and kind; Ubuntu takes no RSA keys", []string{"HeadNode.Ssh.KeyName", "LoginNodes.Pools[].Ssh.KeyName"}},
		{"aws/image", "image", "images", "existence, ParallelCluster's version, operating system, architecture and size",
			append([]string{"Image.CustomAmi"}, ofNodes("Image.CustomAmi")...)},
		{"aws/launch-template", "launch template", "launch templates", "existence and content; only network interfaces may be in it",
			[]string{"Scheduling.SlurmQueues[].ComputeResources[].LaunchTemplateOverrides.LaunchTemplateId"}},
		{"aws/file-system", "file system or volume", "file systems and volumes", "existence, network and ports", []string{
			"SharedStorage[].EbsSettings.VolumeId", "SharedStorage[].EfsSettings.FileSystemId", "SharedStorage[].FsxLustreSettings.FileSystemId",
			"SharedStorage[].FsxOpenZfsSettings.VolumeId", "SharedStorage[].FsxOntapSettings.VolumeId", "SharedStorage[].FileCacheSettings.FileCacheId"}},
		{"aws/snapshot", "snapshot or backup", "snapshots and backups", "existence and size",
			[]string{"SharedStorage[].EbsSettings.SnapshotId", "SharedStorage[].FsxLustreSettings.BackupId"}},
		{"aws/kms-key", "KMS key", "KMS keys", "existence and permission", []string{
			"SharedStorage[].EbsSettings.KmsKeyId", "SharedStorage[].EfsSettings.KmsKeyId", "SharedStorage[].FsxLustreSettings.KmsKeyId"}},
		{"aws/role", "role or instance profile", "roles and instance profiles", "existence and content",
			append(ofNodes("Iam.InstanceRole", "Iam.InstanceProfile"), "Iam.Roles.LambdaFunctionsRole")},
		{"aws/policy", "policy", "policies", "existence and content",
			append(ofNodes("Iam.AdditionalIamPolicies[].Policy"), "Iam.PermissionsBoundary")},
		{"aws/bucket", "bucket", "buckets", "existence, region and permission", []string{
			"CustomS3Bucket", "HeadNode.Iam.S3Access[].BucketName", "Scheduling.SlurmQueues[].Iam.S3Access[].BucketName",
			"SharedStorage[].FsxLustreSettings.ImportPath", "SharedStorage[].FsxLustreSettings.ExportPath",
			"SharedStorage[].FsxLustreSettings.DataRepositoryAssociations[].DataRepositoryPath"}},
		{"aws/secret", "secret", "secrets", "existence and content", []string{
			"DirectoryService.PasswordSecretArn", "Scheduling.SlurmSettings.Database.PasswordSecretArn", "Scheduling.SlurmSettings.MungeKeySecretArn"}},
		{"aws/hosted-zone", "hosted zone", "hosted zones", "existence, VPC, and whether it is private", []string{"Scheduling.SlurmSettings.Dns.HostedZoneId"}},
		{"aws/url", "script or file", "scripts and files", "existence, and the nodes' permission to read them", append(ofNodes(
			"CustomActions.OnNodeStart.Script", "CustomActions.OnNodeStart.Sequence[].Script", "CustomActions.OnNodeConfigured.Script",
			"CustomActions.OnNodeConfigured.Sequence[].Script"), "HeadNode.CustomActions.OnNodeUpdated.Script",
			"HeadNode.CustomActions.OnNodeUpdated.Sequence[].Script", "LoginNodes.Pools[].CustomActions.OnNodeUpdated.Script",
			"LoginNodes.Pools[].CustomActions.OnNodeUpdated.Sequence[].Script", "Scheduling.SlurmSettings.CustomSlurmSettingsIncludeFile",
			"DevSettings.ClusterTemplate", "DevSettings.Cookbook.ChefCookbook", "DevSettings.NodePackage", "AdditionalResources")},
	}
}

// report says that things of a subject are not looked up, and why.
func (s subject) report(root spec.View, why string) {
	found := s.named(root)
	if len(found) == 0 {
		return
	}
	noun, verb := s.one, "is"
	if len(found) > 1 {
		noun, verb = s.many, "are"
	}
	found[0].Blindf(s.code, "%d %s %s not looked up: %s", len(found), noun, verb, s.unknown).WithHint("%s", why)
}

// named are the different things that a file names, in its order.
func (s subject) named(root spec.View) []spec.View {
	var all seen
	var found []spec.View
	for _, place := range s.places {
		for _, v := range places(root, place) {
			name := v.Text()
			if s.code == "aws/bucket" {
				name = bucketOf(name)
			}
			if v.Given() && name != "" && !strings.EqualFold(name, "true") && !strings.EqualFold(name, "false") && all.first(name) {
				found = append(found, v)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b spec.View) int { return a.Line() - b.Line() })
	return found
}

// bucketOf is the bucket of an address of S3, or a bucket's name itself.
func bucketOf(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "s3://"), "/")
	return name
}

// places are the values at a path in which "[]" is every entry of a list.
func places(v spec.View, path string) []spec.View {
	name, rest, more := strings.Cut(path, ".")
	key, list := strings.CutSuffix(name, "[]")
	here := []spec.View{v.Key(key)}
	if list {
		here = here[0].Items()
	}
	if !more {
		return here
	}
	var all []spec.View
	for _, h := range here {
		all = append(all, places(h, rest)...)
	}
	return all
}

// typesNamed are the instance types that a file names, each once.
func typesNamed(root spec.View) []spec.View {
	var found []spec.View
	var all seen
	for _, place := range []string{"HeadNode.InstanceType", "LoginNodes.Pools[].InstanceType",
		"Scheduling.SlurmQueues[].ComputeResources[].InstanceType", "Scheduling.SlurmQueues[].ComputeResources[].Instances[].InstanceType"} {
		for _, v := range places(root, place) {
			if _, ok := catalog.Lookup(v.Text()); ok && v.Present() && all.first(v.Text()) {
				found = append(found, v)
			}
		}
	}
	return found
}

// offered says that a region may not have the instance types.
func offered(root spec.View, why string) {
	found := typesNamed(root)
	if len(found) == 0 {
		return
	}
	region := root.Key("Region").Text()
	if region == "" {
		region = "the region"
	}
	noun, verb := "instance type", "is"
	if len(found) > 1 {
		noun, verb = "instance types", "are"
	}
	found[0].Blindf("aws/instance-type", "%d %s %s not looked up: offer and free capacity in %s and in the subnets' zones", len(found), noun, verb, region).
		WithHint("%s", why)
}

// taken are the reservations that a file names, in its order, and how many
// instances it takes from each.
type taken struct {
	order []spec.View
	nodes map[string]int
}

func reservations(all []resource) taken {
	t := taken{nodes: map[string]int{}}
	for _, x := range all {
		for _, key := range []string{"CapacityReservationId", "CapacityReservationResourceGroupArn"} {
			id := x.target().Key(key)
			if !id.Given() || id.Text() == "" {
				continue
			}
			if _, there := t.nodes[id.Text()]; !there {
				t.order = append(t.order, id)
			}
			t.nodes[id.Text()] += x.view.Key("MaxCount").Int()
		}
	}
	return t
}

// reserved says how many instances the file takes from each reservation.
func reserved(all []resource, why string) {
	t := reservations(all)
	order, nodes := t.order, t.nodes
	if len(order) == 0 {
		return
	}
	var each []string
	for _, id := range order {
		each = append(each, fmt.Sprintf("%s (%s needed)", id.Text(), count.Are(nodes[id.Text()], "instance")))
	}
	noun, verb := "reservation", "is"
	if len(order) > 1 {
		noun, verb = "reservations", "are"
	}
	order[0].Blindf("aws/reservation", "%d %s %s not looked up: size, type, zone, platform and health of %s", len(order), noun, verb, strings.Join(each, ", ")).
		WithHint("%s", why)
}
