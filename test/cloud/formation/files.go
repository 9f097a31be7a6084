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

// relabelFSx brings the tags of a resource of FSx up to date.
func relabelFSx(ctx context.Context, j *job) error {
	return relabels(ctx, j, j.aws.fsx.UntagResource, j.aws.fsx.TagResource, "ResourceARN", text(j.att["ResourceARN"]))
}

// deletionOnly are properties that say how a file system is deleted.
var deletionOnly = map[string]string{"OpenZFSConfiguration/Options": ""}

var (
	newFSx = makes(onFSx, (*fsx.Client).CreateFileSystem, recipe{tags: "Tags", token: "ClientRequestToken", renames: deletionOnly,
		in: "FileSystem", id: "FileSystemId"})
	// A backup knows its type and size.
	fromBackup = makes(onFSx, (*fsx.Client).CreateFileSystemFromBackup, recipe{tags: "Tags", token: "ClientRequestToken", renames: deletionOnly,
		apart: []string{"FileSystemType"}, in: "FileSystem", id: "FileSystemId"})
)

func createFSx(ctx context.Context, j *job) error {
	if j.props["BackupId"] != nil {
		return fromBackup(ctx, j)
	}
	return newFSx(ctx, j)
}

// stable says whether a resource of FSx is available, or why it never will be. The words are ours.
func stable(what, id, state, why string) (bool, error) {
	if state == "FAILED" || strings.HasPrefix(state, "MISCONFIGURED") {
		return false, reason("%s %s is in state %s and hence failed to stabilize. Detailed failure message: %s", what, id, state, why)
	}
	return state == "AVAILABLE", nil
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
	why := ""
	if f.FailureDetails != nil {
		why = aws.ToString(f.FailureDetails.Message)
	}
	if ready, err := stable("File system", j.id, string(f.Lifecycle), why); err != nil || !ready {
		return false, err
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
	change := props{}
	for _, name := range slices.Sorted(maps.Keys(merged(j.old, j.props))) {
		if !j.changed(name) || name == "Tags" {
			continue
		}
		before, _ := j.old[name].(map[string]any)
		after, nested := j.props[name].(map[string]any)
		if !nested {
			change[name] = j.props[name]
			continue
		}
		parts := props{}
		for key, v := range after {
			if canon(v) != canon(before[key]) {
				parts[key] = v
			}
		}
		change[name] = parts
	}
	if len(change) > 0 {
		change["FileSystemId"] = j.id
		if _, err := ask(ctx, j.aws.fsx.UpdateFileSystem, change, deletionOnly); err != nil {
			return err
		}
	}
	return relabelFSx(ctx, j)
}

func removeFSx(ctx context.Context, j *job) error {
	if j.final {
		if err := tell(ctx, j.aws.fsx.CreateBackup, merged(tagging("Tags", j.labels()), props{"FileSystemId": j.id})); err != nil {
			return err
		}
		j.final = false
	}
	with := props{"FileSystemId": j.id}
	if z, ok := j.props["OpenZFSConfiguration"].(props); ok && z["Options"] != nil {
		with["OpenZFSConfiguration"] = props{"Options": z["Options"]}
	}
	return tell(ctx, j.aws.fsx.DeleteFileSystem, with)
}

func goneFSx(ctx context.Context, j *job) (bool, error) {
	f, err := j.fileSystem(ctx)
	if err == nil && f.Lifecycle == types.FileSystemLifecycleFailed {
		return false, reason("File system %s could not be deleted", j.id) // our words
	}
	return false, err
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
	why := ""
	if a.FailureDetails != nil {
		why = aws.ToString(a.FailureDetails.Message)
	}
	return stable("Data repository association", j.id, string(a.Lifecycle), why)
}

func updateDRA(ctx context.Context, j *job) error {
	change := props{}
	for _, name := range []string{"S3", "ImportedFileChunkSize"} {
		if j.changed(name) {
			change[name] = j.props[name]
		}
	}
	if len(change) > 0 {
		change["AssociationId"] = j.id
		if err := tell(ctx, j.aws.fsx.UpdateDataRepositoryAssociation, change); err != nil {
			return err
		}
	}
	return relabelFSx(ctx, j)
}

func removeDRA(ctx context.Context, j *job) error {
	return tell(ctx, j.aws.fsx.DeleteDataRepositoryAssociation, props{"AssociationId": j.id, "DeleteDataInFileSystem": "false"})
}

func goneDRA(ctx context.Context, j *job) (bool, error) {
	_, err := j.association(ctx)
	return false, err
}

// setPolicies sets what a file system of EFS has by calls of their own.
func setPolicies(ctx context.Context, j *job) error {
	if j.changed("LifecyclePolicies") {
		all := j.props["LifecyclePolicies"]
		if all == nil {
			all = []any{}
		}
		if err := tell(ctx, j.aws.efs.PutLifecycleConfiguration, props{"FileSystemId": j.id, "LifecyclePolicies": all}); err != nil {
			return err
		}
	}
	if p, ok := j.props["BackupPolicy"].(props); ok && j.changed("BackupPolicy") {
		return tell(ctx, j.aws.efs.PutBackupPolicy, props{"FileSystemId": j.id, "BackupPolicy": p})
	}
	return nil
}

func updateEFS(ctx context.Context, j *job) error {
	if j.changed("ThroughputMode") || j.changed("ProvisionedThroughputInMibps") {
		with := props{"FileSystemId": j.id, "ThroughputMode": j.props["ThroughputMode"]}
		if v := j.props["ProvisionedThroughputInMibps"]; v != nil {
			with["ProvisionedThroughputInMibps"] = v
		}
		if err := tell(ctx, j.aws.efs.UpdateFileSystem, with); err != nil {
			return err
		}
	}
	if err := setPolicies(ctx, j); err != nil {
		return err
	}
	return relabels(ctx, j, j.aws.efs.UntagResource, j.aws.efs.TagResource, "ResourceId", j.id)
}

var stateEFS = looks(onEFS, (*efs.Client).DescribeFileSystems, "FileSystemId", "FileSystems", "LifeCycleState")

func updateMountTarget(ctx context.Context, j *job) error {
	return tell(ctx, j.aws.efs.ModifyMountTargetSecurityGroups, props{"MountTargetId": j.id, "SecurityGroups": j.props["SecurityGroups"]})
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
