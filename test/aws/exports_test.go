package aws

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// exportsFile is a cluster with a volume, which FSx does not link with anything.
const exportsFile = `Region: us-east-2
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c6i.xlarge
  Ssh: {AllowedIps: 10.0.0.0/16}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: cpu
      ComputeResources:
        - {Name: small, InstanceType: c6i.large, MinCount: 0, MaxCount: 1}
SharedStorage:
  - {Name: runs, MountDir: /runs, StorageType: Ebs, EbsSettings: {Size: 10, DeletionPolicy: Delete}}
Monitoring: {Logs: {CloudWatch: {DeletionPolicy: Delete}}}
`

const exportsWorkload = `Buckets: [train-results]
Exports:
  - {Directory: /runs/logs, Bucket: train-results, Prefix: team}
`

// TestExports brings what a machine writes on a volume of the cluster to a bucket, with the
// head node's own rights.
func TestExports(t *testing.T) {
	t.Parallel()
	b := newWorld(t)
	for name, text := range map[string]string{"cluster.yaml": exportsFile, "muster.yaml": exportsWorkload} {
		if err := os.WriteFile(filepath.Join(b.user, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(b.end)
	b.must("exec", b.double, program(t, "muster"), "up", "cluster.yaml", "--on", "aws", "--yes")
	if out, err := b.head("sh", "-c", "echo all went well >/runs/logs/run.txt"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.await("the file is in the bucket", patience, func() bool { return b.object("train-results", "team/run.txt") == "all went well\n" })
}

// object is the text of an object, "" if there is none.
func (b *booted) object(bucket, key string) string {
	out, err := s3.NewFromConfig(b.aws, func(o *s3.Options) { o.UsePathStyle = true }).
		GetObject(b.t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	if err != nil {
		return ""
	}
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	if err != nil {
		return ""
	}
	return string(text)
}
