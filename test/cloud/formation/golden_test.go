package formation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	fsxtypes "github.com/aws/aws-sdk-go-v2/service/fsx/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/test/cloud"
)

const goldens = "../../../internal/aws/stack/testdata"

// TestOurTemplatesAreMadeChangedAndDeleted makes the stacks of every golden cluster,
// changes their tags and sizes, and deletes them: then nothing of them is left.
func TestOurTemplatesAreMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	dir := golden.Unfolded(t, goldens)
	files, err := filepath.Glob(dir + "/*.base.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates in %s: %v", goldens, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".base.json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &double{T: t}
			texts := d.templates(dir, name)
			d.startIn(regionOf(texts))
			d.furnish(texts)
			before := d.inventory()
			made := d.raise(name, texts)
			d.alter(made, texts)
			d.end()
			for _, stack := range slices.Backward(made) {
				d.want(d.remove(stack), "DELETE_COMPLETE", "")
			}
			if left := leaks(before, d.inventory()); left != "" {
				t.Errorf("after the stacks were deleted:\n%s", left)
			}
		})
	}
}

func (d *double) startIn(region string) {
	d.cloud = cloud.Start(d.T, cloud.Options{Speed: speed, Region: region})
	d.s = d.cloud.Formation
	d.cfn = cloudformation.NewFromConfig(d.cloud.Config())
}

// templates are those of a cluster, by the last part of their stack's name.
func (d *double) templates(dir, name string) map[string]string {
	d.Helper()
	out := map[string]string{}
	for _, part := range []string{"base", "storage", "cluster"} {
		b, err := os.ReadFile(filepath.Join(dir, name+"."+part+".json"))
		if os.IsNotExist(err) {
			continue
		}
		d.must(err)
		out[part] = string(b)
	}
	return out
}

var ofLogs = regexp.MustCompile(`arn:aws:ec2:([a-z0-9-]+):`)

func regionOf(texts map[string]string) string {
	for _, text := range texts {
		if m := ofLogs.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return "us-east-2"
}

var (
	literal = regexp.MustCompile(`\b(ami|vpc|subnet|sg|eipalloc|vol|snap|backup)-[0-9a-f]{8,17}\b`)
	bucket  = regexp.MustCompile(`s3://([a-z0-9.-]+)`)
	keyName = regexp.MustCompile(`"KeyName": "([^"]+)"`)
	zone    = regexp.MustCompile(`"AvailabilityZone": "([^"]+)"`)
)

// furnish makes what the templates take for granted, and puts its IDs into them.
func (d *double) furnish(texts map[string]string) {
	d.Helper()
	all := strings.Join([]string{texts["base"], texts["storage"], texts["cluster"]}, "\n")
	ids := map[string]string{}
	found := literal.FindAllString(all, -1)
	slices.Sort(found)
	f := &furniture{d: d, c: ec2.NewFromConfig(d.cloud.Config()), zones: d.zones(all)}
	slices.SortStableFunc(found, func(a, b string) int { return f.rank(a) - f.rank(b) })
	for _, id := range slices.Compact(found) {
		ids[id] = f.make(id)
	}
	for part, text := range texts {
		for from, to := range ids {
			text = strings.ReplaceAll(text, from, to)
		}
		// A volume that outlives its instance is no leak of the stack's.
		text = strings.ReplaceAll(text, `"DeleteOnTermination": false`, `"DeleteOnTermination": true`)
		texts[part] = text
	}
	d.identities(all)
	store := s3.NewFromConfig(d.cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	for _, name := range append(once(bucket, all), "templates-of-tests", "example") {
		in := &s3.CreateBucketInput{Bucket: &name}
		if d.cloud.Region() != "us-east-1" {
			in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(d.cloud.Region())}
		}
		_, err := store.CreateBucket(d.Context(), in)
		d.must(err)
	}
	nested := template(m{"More": res("AWS::Logs::LogGroup", m{"LogGroupName": "/more"})})
	d.put("example", "template.yaml", *nested)
	for _, name := range once(keyName, all) {
		_, err := f.c.CreateKeyPair(d.Context(), &ec2.CreateKeyPairInput{KeyName: &name})
		d.must(err)
	}
}

func (d *double) put(bucket, key, text string) {
	d.Helper()
	store := s3.NewFromConfig(d.cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	_, err := store.PutObject(d.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)})
	d.must(err)
}

// zones are those that the templates name, or else any.
func (d *double) zones(all string) []string {
	out := once(zone, all)
	for _, letter := range []string{"a", "b", "c"} {
		if z := d.cloud.Region() + letter; !slices.Contains(out, z) {
			out = append(out, z)
		}
	}
	return out
}

// furniture makes single things.
type furniture struct {
	d       *double
	c       *ec2.Client
	zones   []string
	vpc     string
	subnets int
}

func (f *furniture) rank(id string) int {
	kind, _, _ := strings.Cut(id, "-")
	return slices.Index([]string{"vpc", "subnet", "sg", "eipalloc", "ami", "vol", "snap", "backup"}, kind)
}

func (f *furniture) network() string {
	if f.vpc == "" {
		out, err := f.c.CreateVpc(f.d.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
		f.d.must(err)
		f.vpc = *out.Vpc.VpcId
	}
	return f.vpc
}

func (f *furniture) make(id string) string {
	f.d.Helper()
	ctx := f.d.Context()
	kind, number, _ := strings.Cut(id, "-")
	switch kind {
	case "ami":
		arch := "x86_64"
		if strings.HasSuffix(number, "2") {
			arch = "arm64"
		}
		out, err := f.c.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []ec2types.Filter{
			{Name: aws.String("architecture"), Values: []string{arch}}, {Name: aws.String("name"), Values: []string{"aws-parallelcluster-*"}}}})
		f.d.must(err)
		return *out.Images[0].ImageId
	case "vpc":
		return f.network()
	case "subnet":
		out, err := f.c.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: aws.String(f.network()), CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/24", f.subnets)),
			AvailabilityZone: &f.zones[f.subnets%len(f.zones)]})
		f.d.must(err)
		f.subnets++
		return *out.Subnet.SubnetId
	case "sg":
		out, err := f.c.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{VpcId: aws.String(f.network()), GroupName: &id, Description: &id})
		f.d.must(err)
		return *out.GroupId
	case "eipalloc":
		out, err := f.c.AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: ec2types.DomainTypeVpc})
		f.d.must(err)
		return *out.AllocationId
	case "backup":
		return f.backup()
	}
	out, err := f.c.CreateVolume(ctx, &ec2.CreateVolumeInput{AvailabilityZone: &f.zones[0], Size: aws.Int32(10)})
	f.d.must(err)
	if kind == "vol" {
		return *out.VolumeId
	}
	snapshot, err := f.c.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{VolumeId: out.VolumeId})
	f.d.must(err)
	return *snapshot.SnapshotId
}

// backup makes a backup of a file system that is gone.
func (f *furniture) backup() string {
	f.d.Helper()
	ctx, c := f.d.Context(), fsx.NewFromConfig(f.d.cloud.Config())
	system, err := c.CreateFileSystem(ctx, &fsx.CreateFileSystemInput{FileSystemType: fsxtypes.FileSystemTypeLustre, StorageCapacity: aws.Int32(1200),
		SubnetIds:           []string{f.make("subnet")},
		LustreConfiguration: &fsxtypes.CreateFileSystemLustreConfiguration{DeploymentType: fsxtypes.LustreDeploymentTypePersistent2, PerUnitStorageThroughput: aws.Int32(125)}})
	f.d.must(err)
	backup, err := c.CreateBackup(ctx, &fsx.CreateBackupInput{FileSystemId: system.FileSystem.FileSystemId})
	f.d.must(err)
	return *backup.Backup.BackupId
}

var (
	roleName   = regexp.MustCompile(`"Roles": \[\s*"([^"]+)"`)
	policyName = regexp.MustCompile(`arn:aws:iam::\d+:policy/([a-z]+)"`)
)

// identities makes roles and policies that are somebody else's.
func (d *double) identities(all string) {
	d.Helper()
	c := iam.NewFromConfig(d.cloud.Config())
	nobody := aws.String(`{"Version": "2012-10-17", "Statement": []}`)
	for _, name := range once(roleName, all) {
		_, err := c.CreateRole(d.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: nobody})
		d.must(err)
	}
	for _, name := range once(policyName, all) {
		_, err := c.CreatePolicy(d.Context(), &iam.CreatePolicyInput{PolicyName: &name,
			PolicyDocument: aws.String(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}]}`)})
		d.must(err)
	}
}

// once are the parts that a pattern finds, each once.
func once(pattern *regexp.Regexp, in string) []string {
	var out []string
	for _, m := range pattern.FindAllStringSubmatch(in, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// raise makes a cluster's stacks by change sets: outputs of one are parameters of the
// next. It gives their names.
func (d *double) raise(name string, texts map[string]string) []string {
	d.Helper()
	values := map[string]string{}
	var made []string
	for _, part := range []string{"base", "storage", "cluster"} {
		if texts[part] == "" {
			continue
		}
		stack := name + "-" + part
		st := d.execute(stack, texts[part], types.ChangeSetTypeCreate, values, "1")
		made = append(made, stack)
		if st.StackStatus != "CREATE_COMPLETE" {
			d.Fatalf("stack %s is %s:\n%s", stack, st.StackStatus, d.said(stack))
		}
		for _, o := range st.Outputs {
			values[*o.OutputKey] = *o.OutputValue
		}
	}
	return made
}

// execute makes a change set from a template in a bucket, waits for it and executes it.
func (d *double) execute(stack, text string, kind types.ChangeSetType, values map[string]string, tag string) types.Stack {
	d.Helper()
	key := stack + tag + ".json"
	d.put("templates-of-tests", key, text)
	var declared struct{ Parameters map[string]any }
	d.must(json.Unmarshal([]byte(text), &declared))
	in := &cloudformation.CreateChangeSetInput{StackName: &stack, ChangeSetName: aws.String("set" + tag), ChangeSetType: kind,
		TemplateURL: aws.String("https://templates-of-tests.s3." + d.cloud.Region() + ".amazonaws.com/" + key), IncludeNestedStacks: aws.Bool(false),
		Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam}, Tags: []types.Tag{{Key: aws.String("turn"), Value: &tag}}}
	for p := range declared.Parameters {
		if v, ok := values[p]; ok {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: aws.String(p), ParameterValue: &v})
		} else if kind == types.ChangeSetTypeUpdate {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: aws.String(p), UsePreviousValue: aws.Bool(true)})
		}
	}
	_, err := d.cfn.CreateChangeSet(d.Context(), in)
	d.must(err)
	set := d.ready(stack, *in.ChangeSetName)
	if set.Status != types.ChangeSetStatusCreateComplete {
		d.Fatalf("change set of %s is %s: %s", stack, set.Status, aws.ToString(set.StatusReason))
	}
	for _, c := range set.Changes {
		// The tags of a placement group cannot be changed.
		if kind == types.ChangeSetTypeUpdate && c.ResourceChange.Replacement == types.ReplacementTrue && *c.ResourceChange.ResourceType != "AWS::EC2::PlacementGroup" {
			d.Errorf("%s %s would be replaced: %v", stack, *c.ResourceChange.LogicalResourceId, c.ResourceChange.Details)
		}
	}
	_, err = d.cfn.ExecuteChangeSet(d.Context(), &cloudformation.ExecuteChangeSetInput{StackName: &stack, ChangeSetName: in.ChangeSetName})
	d.must(err)
	return d.settled(stack)
}

var capacity = regexp.MustCompile(`"StorageCapacity": (\d+)`)

// alter changes the tags of everything, doubles file systems, and keeps nothing at
// the deletion.
func (d *double) alter(made []string, texts map[string]string) {
	d.Helper()
	for _, stack := range made {
		text := texts[stack[strings.LastIndex(stack, "-")+1:]]
		text = capacity.ReplaceAllStringFunc(text, func(s string) string {
			n := 0
			_, err := fmt.Sscanf(s, `"StorageCapacity": %d`, &n)
			d.must(err)
			return fmt.Sprintf(`"StorageCapacity": %d`, 2*n)
		})
		text = strings.ReplaceAll(text, `Policy": "Retain"`, `Policy": "Delete"`)
		if st := d.execute(stack, text, types.ChangeSetTypeUpdate, nil, "2"); st.StackStatus != "UPDATE_COMPLETE" {
			d.Fatalf("stack %s is %s:\n%s", stack, st.StackStatus, d.said(stack))
		}
	}
}
