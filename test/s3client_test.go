package test

import (
	"os"
	"testing"
)

// containerFindsS3: a client in a container finds the cluster's S3 server without being told, as one on a node does. What
// the image sets itself stays.
func containerFindsS3(t *testing.T, c *cluster) {
	if _, err := os.Stat("/usr/bin/aws"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("this machine lacks /usr/bin/aws")
		}
		t.Skip("this machine lacks /usr/bin/aws")
	}
	const system = "--container-mounts=/usr:/usr,/usr/lib:/lib,/usr/lib64:/lib64"
	c.head("/usr/bin/aws", "s3", "mb", "s3://from-container")
	c.srun(system, "sh", "-c", "echo hello | /usr/bin/aws s3 cp --quiet - s3://from-container/key")
	if got := c.srun(system, "/usr/bin/aws", "s3", "cp", "--quiet", "s3://from-container/key", "-"); got != "hello\n" {
		t.Errorf("got %q", got)
	}
	if got := c.srun("sh", "-c", "touch /etc/muster-aws/x 2>/dev/null || echo kept"); got != "kept\n" {
		t.Error("a container changes the cluster's own configuration")
	}
}

// debianClientFindsS3: the AWS CLI of Debian 12 knows of no settings that lead elsewhere than to AWS's names, which are
// the cluster's own S3 server inside it, and nothing else of AWS, which it says in AWS's own words.
func debianClientFindsS3(t *testing.T, c *cluster) {
	c.file("client.sh", `set -e
key='s3://from-debian/a b/c+d é%25.txt'
/usr/bin/aws s3 mb s3://from-debian
echo hello | /usr/bin/aws s3 cp --quiet - "$key"
srun /usr/bin/aws s3 cp --quiet "$key" -
curl --silent --show-error "$(/usr/bin/aws s3 presign "$key")"
/usr/bin/aws sts get-caller-identity --query Account --output text
for service in 'ecr get-login-password' 'ec2 describe-instances' 'fsx describe-file-systems' 'ssm describe-parameters' \
	'logs describe-log-groups' 'cloudwatch list-metrics'; do
	/usr/bin/aws $service 2>&1 | grep -o 'NotInARehearsal\|[a-z0-9]* is not in a rehearsal' | paste -sd' '
done
`)
	const want = `make_bucket: from-debian
hello
hello
000000000000
NotInARehearsal ecr is not in a rehearsal
NotInARehearsal ec2 is not in a rehearsal
NotInARehearsal fsx is not in a rehearsal
NotInARehearsal ssm is not in a rehearsal
NotInARehearsal logs is not in a rehearsal
NotInARehearsal monitoring is not in a rehearsal
`
	if got := c.head("sh", "client.sh"); got != want {
		t.Errorf("got:\n%s", got)
	}
	// Whoever could read the key could sign for its machines.
	if info, err := os.Stat(c.path("etc", "s3", "authority.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the authority's key: %v, %v", info, err)
	}
}
