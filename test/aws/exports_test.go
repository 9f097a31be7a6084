package aws

import (
	"io"
	"os"
	"path/filepath"
	"strings"
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
	out, err := b.head("/opt/muster/bin/muster", "data", "export", "--wait", "/runs/logs")
	if err != nil || !strings.Contains(out, "/runs/logs -> s3://train-results/team/  1 of 1 file verified") {
		t.Errorf("the wait says %v\n%s", err, out)
	}
	if got := b.object("train-results", "team/run.txt"); got != "all went well\n" {
		t.Errorf("the bucket has %q", got)
	}
	b.await("the status to say so", patience, func() bool {
		out, _ := b.try("exec", b.double, program(t, "muster"), "status") // exit code 3 for what else needs a look
		return strings.Contains(out, "/runs/logs -> s3://train-results/team/: 0 waiting, 1 exported")
	})
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
