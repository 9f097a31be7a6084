package formation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

func createInterface(ctx context.Context, j *job) error {
	in := &ec2.CreateNetworkInterfaceInput{TagSpecifications: tagged(types.ResourceTypeNetworkInterface, j.labels())}
	if err := fill(in, without(j.props, "Tags", "SourceDestCheck"), map[string]string{"GroupSet": "Groups"}); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreateNetworkInterface(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.NetworkInterface.NetworkInterfaceId
	j.att["Id"], j.att["PrimaryPrivateIpAddress"], j.att["VpcId"] = j.id, *out.NetworkInterface.PrivateIpAddress, aws.ToString(out.NetworkInterface.VpcId)
	return nil
}

func updateInterface(ctx context.Context, j *job) error {
	if j.changed("GroupSet") {
		_, err := j.aws.ec2.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: &j.id, Groups: textsOf(j.props["GroupSet"])})
		if err != nil {
			return err
		}
	}
	return retag(ctx, j)
}

func removeInterface(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &j.id})
	return err
}

func createPlacementGroup(ctx context.Context, j *job) error {
	in := &ec2.CreatePlacementGroupInput{GroupName: aws.String(j.generated(255)), TagSpecifications: tagged(types.ResourceTypePlacementGroup, j.labels())}
	if err := fill(in, without(j.props, "Tags"), nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreatePlacementGroup(ctx, in)
	if err != nil {
		return err
	}
	j.id = *in.GroupName
	j.att["GroupName"] = j.id
	if out.PlacementGroup != nil {
		j.att["GroupId"] = aws.ToString(out.PlacementGroup.GroupId)
	}
	return nil
}

func removePlacementGroup(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DeletePlacementGroup(ctx, &ec2.DeletePlacementGroupInput{GroupName: &j.id})
	if code(err) == "InvalidPlacementGroup.Unknown" {
		return nil
	}
	return err
}

func createTemplate(ctx context.Context, j *job) error {
	in := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(j.generated(128))}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	if len(j.tags) > 0 {
		own := map[string]string{}
		for _, spec := range in.TagSpecifications {
			for _, t := range spec.Tags {
				own[*t.Key] = aws.ToString(t.Value)
			}
		}
		all := maps.Clone(j.tags)
		maps.Copy(all, own)
		in.TagSpecifications = tagged(types.ResourceTypeLaunchTemplate, all)
	}
	out, err := j.aws.ec2.CreateLaunchTemplate(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.LaunchTemplate.LaunchTemplateId
	j.att["LaunchTemplateId"], j.att["DefaultVersionNumber"], j.att["LatestVersionNumber"] = j.id, "1", "1"
	return nil
}

func updateTemplate(ctx context.Context, j *job) error {
	if j.changed("LaunchTemplateData") || j.changed("VersionDescription") {
		in := &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &j.id}
		if err := fill(in, without(j.props, "LaunchTemplateName", "TagSpecifications"), nil); err != nil {
			return err
		}
		out, err := j.aws.ec2.CreateLaunchTemplateVersion(ctx, in)
		if err != nil {
			return err
		}
		j.att["LatestVersionNumber"] = strconv.FormatInt(*out.LaunchTemplateVersion.VersionNumber, 10)
	}
	tags := func(props map[string]any) map[string]any {
		out := []any{}
		for _, s := range ruleList(props, "TagSpecifications") {
			all, _ := s["Tags"].([]any)
			out = append(out, all...)
		}
		return map[string]any{"Tags": out}
	}
	labelled := *j
	labelled.old, labelled.props = tags(j.old), tags(j.props)
	return retag(ctx, &labelled)
}

func removeTemplate(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &j.id})
	return err
}

// instanceNames are where a property of an instance has another name in RunInstances.
var instanceNames = map[string]string{"NetworkInterfaces/GroupSet": "Groups", "NetworkInterfaces/AssociatePublicIpAddress": "AssociatePublicIpAddress"}

func createInstance(ctx context.Context, j *job) error {
	sum := sha256.Sum256([]byte(j.stack.id + j.logical + canon(j.props)))
	in := &ec2.RunInstancesInput{MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ClientToken: aws.String(hex.EncodeToString(sum[:])),
		TagSpecifications: tagged(types.ResourceTypeInstance, j.labels())}
	placement := map[string]any{}
	for from, to := range map[string]string{"AvailabilityZone": "AvailabilityZone", "Tenancy": "Tenancy", "PlacementGroupName": "GroupName", "HostId": "HostId"} {
		if v := j.props[from]; v != nil {
			placement[to] = v
		}
	}
	props := without(j.props, "Tags", "AvailabilityZone", "Tenancy", "PlacementGroupName", "HostId", "SourceDestCheck", "Monitoring", "IamInstanceProfile", "PropagateTagsToVolumeOnCreation")
	if len(placement) > 0 {
		props["Placement"] = placement
	}
	if v := j.props["Monitoring"]; v != nil {
		props["Monitoring"] = map[string]any{"Enabled": v}
	}
	if v := j.props["IamInstanceProfile"]; v != nil {
		props["IamInstanceProfile"] = map[string]any{"Name": v}
	}
	if err := fill(in, props, instanceNames); err != nil {
		return err
	}
	out, err := j.aws.ec2.RunInstances(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.Instances[0].InstanceId
	j.att["InstanceId"] = j.id
	return nil
}

func (j *job) instance(ctx context.Context) (*types.Instance, error) {
	out, err := j.aws.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{j.id}})
	if err != nil {
		return nil, err
	}
	for _, r := range out.Reservations {
		for i := range r.Instances {
			return &r.Instances[i], nil
		}
	}
	return nil, nil
}

func readyInstance(ctx context.Context, j *job) (bool, error) {
	i, err := j.instance(ctx)
	if missing(err) || err == nil && i == nil {
		return false, nil // it can take a moment until a new instance is described
	}
	if err != nil {
		return false, err
	}
	switch i.State.Name {
	case types.InstanceStateNameRunning:
	case types.InstanceStateNameTerminated, types.InstanceStateNameShuttingDown:
		return false, reason("Instance %s failed to stabilize. Current state: %s. Reason: %s", j.id, i.State.Name, aws.ToString(i.StateTransitionReason)) // our words
	default:
		return false, nil
	}
	for name, v := range map[string]*string{"PrivateIp": i.PrivateIpAddress, "PublicIp": i.PublicIpAddress, "PrivateDnsName": i.PrivateDnsName,
		"PublicDnsName": i.PublicDnsName, "VpcId": i.VpcId} {
		if v != nil {
			j.att[name] = *v
		}
	}
	if i.Placement != nil {
		j.att["AvailabilityZone"] = aws.ToString(i.Placement.AvailabilityZone)
	}
	return true, nil
}

// updateInstance changes what can be changed while the instance runs. What needs it
// stopped is refused: no template should do that to a head node unseen.
func updateInstance(ctx context.Context, j *job) error {
	for _, name := range slices.Sorted(maps.Keys(merged(j.old, j.props))) {
		if !j.changed(name) || name == "Tags" {
			continue
		}
		in := &ec2.ModifyInstanceAttributeInput{InstanceId: &j.id}
		switch name {
		case "SecurityGroupIds":
			in.Groups = textsOf(j.props[name])
		case "DisableApiTermination", "SourceDestCheck", "EbsOptimized":
			if err := fill(in, map[string]any{name: map[string]any{"Value": j.props[name]}}, nil); err != nil {
				return err
			}
		default:
			return reason("The double does not change the %s of an instance in place", name)
		}
		if _, err := j.aws.ec2.ModifyInstanceAttribute(ctx, in); err != nil {
			return err
		}
	}
	return retag(ctx, j)
}

func removeInstance(ctx context.Context, j *job) error {
	_, err := j.aws.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{j.id}})
	return err
}

func goneInstance(ctx context.Context, j *job) (bool, error) {
	i, err := j.instance(ctx)
	return err == nil && (i == nil || i.State.Name == types.InstanceStateNameTerminated), err
}

func createVolume(ctx context.Context, j *job) error {
	in := &ec2.CreateVolumeInput{TagSpecifications: tagged(types.ResourceTypeVolume, j.labels())}
	if err := fill(in, without(j.props, "Tags"), nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.CreateVolume(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.VolumeId
	j.att["VolumeId"] = j.id
	return nil
}

func readyVolume(ctx context.Context, j *job) (bool, error) {
	out, err := j.aws.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{j.id}})
	if err != nil || len(out.Volumes) == 0 {
		return false, err
	}
	return out.Volumes[0].State == types.VolumeStateAvailable || out.Volumes[0].State == types.VolumeStateInUse, nil
}

func updateVolume(ctx context.Context, j *job) error {
	change := map[string]any{}
	for _, name := range []string{"Size", "VolumeType", "Iops", "Throughput"} {
		if j.changed(name) {
			change[name] = j.props[name]
		}
	}
	for _, name := range []string{"AvailabilityZone", "Encrypted", "KmsKeyId", "SnapshotId"} {
		if j.changed(name) {
			return reason("Update to property %s of AWS::EC2::Volume is not supported.", name) // our words
		}
	}
	if len(change) > 0 {
		in := &ec2.ModifyVolumeInput{VolumeId: &j.id}
		if err := fill(in, change, nil); err != nil {
			return err
		}
		if _, err := j.aws.ec2.ModifyVolume(ctx, in); err != nil {
			return err
		}
	}
	return retag(ctx, j)
}

func removeVolume(ctx context.Context, j *job) error {
	if j.final {
		about := "Created by CloudFormation stack " + j.stack.name
		if _, err := j.aws.ec2.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{VolumeId: &j.id, Description: &about, TagSpecifications: tagged(types.ResourceTypeSnapshot, j.labels())}); err != nil {
			return err
		}
		j.final = false
	}
	_, err := j.aws.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: &j.id})
	return err
}

func attachVolume(ctx context.Context, j *job) error {
	in := &ec2.AttachVolumeInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	if _, err := j.aws.ec2.AttachVolume(ctx, in); err != nil {
		return err
	}
	j.id = *in.VolumeId + "|" + *in.InstanceId
	return nil
}

func detachVolume(ctx context.Context, j *job) error {
	in := &ec2.DetachVolumeInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	out, err := j.aws.ec2.DetachVolume(ctx, in)
	switch {
	case code(err) == "IncorrectState" || code(err) == "InvalidAttachment.NotFound":
		return nil // the instance is gone, and the attachment with it
	case err == nil && out.State == types.VolumeAttachmentStateBusy:
		return &smithy.GenericAPIError{Code: "VolumeInUse", Message: "Exceeded attempts to wait: " + *in.VolumeId + " is busy"}
	}
	return err
}
