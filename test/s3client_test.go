package test

import (
	"os"
	"testing"
)

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
