package formation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func (d *double) bucket(name string) {
	d.Helper()
	store := s3.NewFromConfig(d.cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	_, err := store.CreateBucket(d.Context(), &s3.CreateBucketInput{Bucket: &name,
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "us-east-2"}})
	d.must(err)
}

func TestWhatIsInUseIsNotDeleted(t *testing.T) {
	d := start(t)
	d.create("use", template(m{"Net": vpc(), "A": subnet("10.1.0.0/24"), "Group": res("AWS::EC2::SecurityGroup", m{"VpcId": ref("Net"), "GroupDescription": "x"}),
		"Bucket": res("AWS::S3::Bucket", m{"BucketName": "full"})}))
	d.put("full", "key", "value")
	ids := d.resources("use")
	machines := ec2.NewFromConfig(d.cloud.Config())
	nic, err := machines.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{SubnetId: ids["A"].PhysicalResourceId, Groups: []string{*ids["Group"].PhysicalResourceId}})
	d.must(err)
	d.want(d.remove("use"), "DELETE_FAILED", "The following resource(s) failed to delete: [A, Bucket, Group].")
	now := d.resources("use")
	for id, want := range map[string]string{
		"A":      "The subnet '" + *ids["A"].PhysicalResourceId + "' has dependencies and cannot be deleted. (Service: Ec2, Status Code: 400,",
		"Group":  "resource " + *ids["Group"].PhysicalResourceId + " has a dependent object (Service: Ec2, Status Code: 400,",
		"Bucket": "The bucket you tried to delete is not empty. You must delete all versions in the bucket. (Service: S3, Status Code: 409,",
	} {
		if got := aws.ToString(now[id].ResourceStatusReason); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", id, got, want)
		}
	}
	_, err = machines.DeleteNetworkInterface(t.Context(), &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: nic.NetworkInterface.NetworkInterfaceId})
	d.must(err)
	d.want(d.remove("use", "Bucket"), "DELETE_COMPLETE", "")
}

func TestPoliciesOfDeletion(t *testing.T) {
	d := start(t)
	volume := m{"AvailabilityZone": "us-east-2a", "Size": 8}
	with := func(policy string, r m) m { r["DeletionPolicy"] = policy; return r }
	d.create("pol", template(m{"Net": with("Retain", vpc()), "Disk": with("Snapshot", res("AWS::EC2::Volume", volume)), "Other": res("AWS::EC2::Volume", volume)}))
	ids := d.resources("pol")
	d.want(d.remove("pol"), "DELETE_COMPLETE", "")
	machines := ec2.NewFromConfig(d.cloud.Config())
	if _, err := machines.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{*ids["Net"].PhysicalResourceId}}); err != nil {
		t.Errorf("the network was to be retained: %v", err)
	}
	for id, want := range map[string]int{"Disk": 1, "Other": 0} {
		snapshots, err := machines.DescribeSnapshots(t.Context(), &ec2.DescribeSnapshotsInput{Filters: []ec2types.Filter{{Name: aws.String("volume-id"), Values: []string{*ids[id].PhysicalResourceId}}}})
		d.must(err)
		if len(snapshots.Snapshots) != want {
			t.Errorf("%d snapshots of %s, want %d", len(snapshots.Snapshots), id, want)
		}
	}
	volumes, err := machines.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})
	d.must(err)
	if len(volumes.Volumes) != 0 {
		t.Errorf("%d volumes are left", len(volumes.Volumes))
	}
}

func TestACustomNameCannotBeReplaced(t *testing.T) {
	d := start(t)
	group := func(description string) *string {
		return template(m{"Net": vpc(), "T": res("AWS::IAM::Role", m{"RoleName": "mine", "Path": description, "AssumeRolePolicyDocument": m{"Version": "2012-10-17", "Statement": []m{}}})})
	}
	d.create("name", group("/a/"))
	d.want(d.update("name", group("/b/")), "UPDATE_ROLLBACK_COMPLETE", "")
	if said := d.said("name"); !strings.Contains(said, "T UPDATE_FAILED CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename mine and update the stack again.") {
		t.Error(said)
	}
}

func TestAZoneWithForeignRecordsIsNotDeleted(t *testing.T) {
	d := start(t)
	d.create("zone", template(m{"Zone": res("AWS::Route53::HostedZone", m{"Name": "cluster.pcluster."})}))
	id := d.resources("zone")["Zone"].PhysicalResourceId
	c := route53.NewFromConfig(d.cloud.Config())
	change := func(action r53types.ChangeAction) {
		t.Helper()
		_, err := c.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: id, ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{
			Action: action, ResourceRecordSet: &r53types.ResourceRecordSet{Name: aws.String("node.cluster.pcluster."), Type: r53types.RRTypeA, TTL: aws.Int64(60),
				ResourceRecords: []r53types.ResourceRecord{{Value: aws.String("10.0.0.1")}}}}}}})
		d.must(err)
	}
	change(r53types.ChangeActionCreate)
	d.want(d.remove("zone"), "DELETE_FAILED", "The following resource(s) failed to delete: [Zone].")
	change(r53types.ChangeActionDelete)
	d.want(d.remove("zone"), "DELETE_COMPLETE", "")
}
