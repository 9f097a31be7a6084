package formation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	efstypes "github.com/aws/aws-sdk-go-v2/service/efs/types"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/fsx/types"
)

func fsxTags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// relabel brings the tags of a resource of FSx up to date.
func (j *job) relabel(ctx context.Context, arn string) error {
	set, unset := j.relabelled()
	if len(unset) > 0 {
		if _, err := j.aws.fsx.UntagResource(ctx, &fsx.UntagResourceInput{ResourceARN: &arn, TagKeys: unset}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err := j.aws.fsx.TagResource(ctx, &fsx.TagResourceInput{ResourceARN: &arn, Tags: fsxTags(set)})
	return err
}

// deletionOnly are properties that say how a file system is deleted.
var deletionOnly = map[string]string{"OpenZFSConfiguration/Options": ""}

// fromBackup makes a file system from a backup, which knows its type and size.
func (j *job) fromBackup(ctx context.Context) error {
	in := &fsx.CreateFileSystemFromBackupInput{ClientRequestToken: aws.String(uuid()), Tags: fsxTags(j.labels())}
	if err := fill(in, without(j.props, "Tags", "FileSystemType"), deletionOnly); err != nil {
		return err
	}
	out, err := j.aws.fsx.CreateFileSystemFromBackup(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.FileSystem.FileSystemId
	return nil
}

func createFSx(ctx context.Context, j *job) error {
	if j.props["BackupId"] != nil {
		return j.fromBackup(ctx)
	}
	in := &fsx.CreateFileSystemInput{ClientRequestToken: aws.String(uuid()), Tags: fsxTags(j.labels())}
	if err := fill(in, without(j.props, "Tags"), deletionOnly); err != nil {
		return err
	}
	out, err := j.aws.fsx.CreateFileSystem(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.FileSystem.FileSystemId
	return nil
}

func (j *job) fileSystem(ctx context.Context) (*types.FileSystem, error) {
	out, err := j.aws.fsx.DescribeFileSystems(ctx, &fsx.DescribeFileSystemsInput{FileSystemIds: []string{j.id}})
	if err != nil {
		return nil, err
	}
	return &out.FileSystems[0], nil
}

func readyFSx(ctx context.Context, j *job) (bool, error) {
	f, err := j.fileSystem(ctx)
	if err != nil {
		return false, err
	}
	switch f.Lifecycle {
	case types.FileSystemLifecycleFailed, types.FileSystemLifecycleMisconfigured, types.FileSystemLifecycleMisconfiguredUnavailable:
		why := ""
		if f.FailureDetails != nil {
			why = aws.ToString(f.FailureDetails.Message)
		}
		return false, reason("File system %s is in state %s and hence failed to stabilize. Detailed failure message: %s", j.id, f.Lifecycle, why) // our words
	case types.FileSystemLifecycleAvailable:
	default:
		return false, nil
	}
	j.att["Id"], j.att["ResourceARN"], j.att["DNSName"] = j.id, *f.ResourceARN, aws.ToString(f.DNSName)
	if c := f.LustreConfiguration; c != nil {
		j.att["LustreMountName"] = aws.ToString(c.MountName)
	}
	if c := f.OpenZFSConfiguration; c != nil {
		j.att["RootVolumeId"] = aws.ToString(c.RootVolumeId)
	}
	return true, nil
}

func updateFSx(ctx context.Context, j *job) error {
	in, some := &fsx.UpdateFileSystemInput{FileSystemId: &j.id}, false
	change := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(merged(j.old, j.props))) {
		if !j.changed(name) || name == "Tags" {
			continue
		}
		some = true
		before, _ := j.old[name].(map[string]any)
		after, nested := j.props[name].(map[string]any)
		if !nested {
			change[name] = j.props[name]
			continue
		}
		parts := map[string]any{}
		for key, v := range after {
			if canon(v) != canon(before[key]) {
				parts[key] = v
			}
		}
		change[name] = parts
	}
	if err := fill(in, change, deletionOnly); err != nil {
		return err
	}
	if some {
		if _, err := j.aws.fsx.UpdateFileSystem(ctx, in); err != nil {
			return err
		}
	}
	return j.relabel(ctx, text(j.att["ResourceARN"]))
}

func removeFSx(ctx context.Context, j *job) error {
	if j.final {
		if _, err := j.aws.fsx.CreateBackup(ctx, &fsx.CreateBackupInput{FileSystemId: &j.id, Tags: fsxTags(j.labels())}); err != nil {
			return err
		}
		j.final = false
	}
	in := &fsx.DeleteFileSystemInput{FileSystemId: &j.id}
	if z, ok := j.props["OpenZFSConfiguration"].(map[string]any); ok && z["Options"] != nil {
		if err := fill(in, map[string]any{"OpenZFSConfiguration": map[string]any{"Options": z["Options"]}}, nil); err != nil {
			return err
		}
	}
	_, err := j.aws.fsx.DeleteFileSystem(ctx, in)
	return err
}

func goneFSx(ctx context.Context, j *job) (bool, error) {
	f, err := j.fileSystem(ctx)
	if err == nil && f.Lifecycle == types.FileSystemLifecycleFailed {
		return false, reason("File system %s could not be deleted", j.id) // our words
	}
	return false, err
}

func createDRA(ctx context.Context, j *job) error {
	in := &fsx.CreateDataRepositoryAssociationInput{ClientRequestToken: aws.String(uuid()), Tags: fsxTags(j.labels())}
	if err := fill(in, without(j.props, "Tags"), nil); err != nil {
		return err
	}
	out, err := j.aws.fsx.CreateDataRepositoryAssociation(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.Association.AssociationId
	j.att["AssociationId"], j.att["ResourceARN"] = j.id, *out.Association.ResourceARN
	return nil
}

func (j *job) association(ctx context.Context) (*types.DataRepositoryAssociation, error) {
	out, err := j.aws.fsx.DescribeDataRepositoryAssociations(ctx, &fsx.DescribeDataRepositoryAssociationsInput{AssociationIds: []string{j.id}})
	if err != nil {
		return nil, err
	}
	return &out.Associations[0], nil
}

func readyDRA(ctx context.Context, j *job) (bool, error) {
	a, err := j.association(ctx)
	if err != nil {
		return false, err
	}
	if a.Lifecycle == types.DataRepositoryLifecycleFailed || a.Lifecycle == types.DataRepositoryLifecycleMisconfigured {
		why := ""
		if a.FailureDetails != nil {
			why = aws.ToString(a.FailureDetails.Message)
		}
		return false, reason("Data repository association %s is in state %s and hence failed to stabilize. Detailed failure message: %s", j.id, a.Lifecycle, why) // our words
	}
	return a.Lifecycle == types.DataRepositoryLifecycleAvailable, nil
}

func updateDRA(ctx context.Context, j *job) error {
	change := map[string]any{}
	for _, name := range []string{"S3", "ImportedFileChunkSize"} {
		if j.changed(name) {
			change[name] = j.props[name]
		}
	}
	if len(change) > 0 {
		in := &fsx.UpdateDataRepositoryAssociationInput{AssociationId: &j.id}
		if err := fill(in, change, nil); err != nil {
			return err
		}
		if _, err := j.aws.fsx.UpdateDataRepositoryAssociation(ctx, in); err != nil {
			return err
		}
	}
	return j.relabel(ctx, text(j.att["ResourceARN"]))
}

func removeDRA(ctx context.Context, j *job) error {
	_, err := j.aws.fsx.DeleteDataRepositoryAssociation(ctx, &fsx.DeleteDataRepositoryAssociationInput{AssociationId: &j.id, DeleteDataInFileSystem: aws.Bool(false)})
	return err
}

func goneDRA(ctx context.Context, j *job) (bool, error) {
	_, err := j.association(ctx)
	return false, err
}

// efsTags are the tags of EFS, which its type has under a name of their own.
func efsTags(j *job) []efstypes.Tag {
	var out []efstypes.Tag
	all := labels(map[string]any{"Tags": j.props["FileSystemTags"]}, j.tags)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, efstypes.Tag{Key: aws.String(k), Value: aws.String(all[k])})
	}
	return out
}

func createEFS(ctx context.Context, j *job) error {
	in := &efs.CreateFileSystemInput{CreationToken: aws.String(uuid()), Tags: efsTags(j)}
	if err := fill(in, without(j.props, "FileSystemTags", "LifecyclePolicies", "BackupPolicy"), nil); err != nil {
		return err
	}
	out, err := j.aws.efs.CreateFileSystem(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.FileSystemId
	j.att["FileSystemId"], j.att["Arn"] = j.id, aws.ToString(out.FileSystemArn)
	return j.policies(ctx)
}

func (j *job) policies(ctx context.Context) error {
	if j.changed("LifecyclePolicies") {
		in := &efs.PutLifecycleConfigurationInput{FileSystemId: &j.id, LifecyclePolicies: []efstypes.LifecyclePolicy{}}
		if v := j.props["LifecyclePolicies"]; v != nil {
			if err := fill(in, map[string]any{"LifecyclePolicies": v}, nil); err != nil {
				return err
			}
		}
		if _, err := j.aws.efs.PutLifecycleConfiguration(ctx, in); err != nil {
			return err
		}
	}
	if p, ok := j.props["BackupPolicy"].(map[string]any); ok && j.changed("BackupPolicy") {
		_, err := j.aws.efs.PutBackupPolicy(ctx, &efs.PutBackupPolicyInput{FileSystemId: &j.id, BackupPolicy: &efstypes.BackupPolicy{Status: efstypes.Status(text(p["Status"]))}})
		return err
	}
	return nil
}

func readyEFS(ctx context.Context, j *job) (bool, error) {
	out, err := j.aws.efs.DescribeFileSystems(ctx, &efs.DescribeFileSystemsInput{FileSystemId: &j.id})
	return err == nil && len(out.FileSystems) == 1 && out.FileSystems[0].LifeCycleState == efstypes.LifeCycleStateAvailable, err
}

func updateEFS(ctx context.Context, j *job) error {
	if j.changed("ThroughputMode") || j.changed("ProvisionedThroughputInMibps") {
		in := &efs.UpdateFileSystemInput{FileSystemId: &j.id}
		props := map[string]any{"ThroughputMode": j.props["ThroughputMode"]}
		if v := j.props["ProvisionedThroughputInMibps"]; v != nil {
			props["ProvisionedThroughputInMibps"] = v
		}
		if err := fill(in, props, nil); err != nil {
			return err
		}
		if _, err := j.aws.efs.UpdateFileSystem(ctx, in); err != nil {
			return err
		}
	}
	if err := j.policies(ctx); err != nil {
		return err
	}
	labelled := *j
	labelled.old, labelled.props = map[string]any{"Tags": j.old["FileSystemTags"]}, map[string]any{"Tags": j.props["FileSystemTags"]}
	set, unset := labelled.relabelled()
	if len(unset) > 0 {
		if _, err := j.aws.efs.UntagResource(ctx, &efs.UntagResourceInput{ResourceId: &j.id, TagKeys: unset}); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err := j.aws.efs.TagResource(ctx, &efs.TagResourceInput{ResourceId: &j.id, Tags: efsTags(&job{props: map[string]any{}, tags: set})})
	return err
}

func removeEFS(ctx context.Context, j *job) error {
	_, err := j.aws.efs.DeleteFileSystem(ctx, &efs.DeleteFileSystemInput{FileSystemId: &j.id})
	return err
}

func goneEFS(ctx context.Context, j *job) (bool, error) {
	out, err := j.aws.efs.DescribeFileSystems(ctx, &efs.DescribeFileSystemsInput{FileSystemId: &j.id})
	return err == nil && len(out.FileSystems) == 0, err
}

func createMountTarget(ctx context.Context, j *job) error {
	in := &efs.CreateMountTargetInput{}
	if err := fill(in, j.props, nil); err != nil {
		return err
	}
	out, err := j.aws.efs.CreateMountTarget(ctx, in)
	if err != nil {
		return err
	}
	j.id = *out.MountTargetId
	j.att["Id"], j.att["IpAddress"] = j.id, aws.ToString(out.IpAddress)
	return nil
}

func readyMountTarget(ctx context.Context, j *job) (bool, error) {
	out, err := j.aws.efs.DescribeMountTargets(ctx, &efs.DescribeMountTargetsInput{MountTargetId: &j.id})
	return err == nil && len(out.MountTargets) == 1 && out.MountTargets[0].LifeCycleState == efstypes.LifeCycleStateAvailable, err
}

func updateMountTarget(ctx context.Context, j *job) error {
	_, err := j.aws.efs.ModifyMountTargetSecurityGroups(ctx, &efs.ModifyMountTargetSecurityGroupsInput{MountTargetId: &j.id, SecurityGroups: textsOf(j.props["SecurityGroups"])})
	return err
}

func removeMountTarget(ctx context.Context, j *job) error {
	_, err := j.aws.efs.DeleteMountTarget(ctx, &efs.DeleteMountTargetInput{MountTargetId: &j.id})
	return err
}

func goneMountTarget(ctx context.Context, j *job) (bool, error) {
	out, err := j.aws.efs.DescribeMountTargets(ctx, &efs.DescribeMountTargetsInput{FileSystemId: aws.String(text(j.props["FileSystemId"]))})
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(out.MountTargets, func(m efstypes.MountTargetDescription) bool {
		return strings.EqualFold(aws.ToString(m.MountTargetId), j.id)
	}), nil
}
