package stack

import (
	"strconv"

	"github.com/muster-hpc/muster/internal/aws/cfn"
)

// base is the stack of resources that cost next to nothing and have to be there first.
func (m *maker) base() *Stack {
	p := m.part(m.facts.Name+"-base", "Cluster "+m.facts.Name+": network, security groups, bucket, logs")
	m.network(p)
	if m.net.vpc.absent() {
		return p.Stack // the problem is told; everything else would follow from it
	}
	m.securityGroups(p)
	m.clusterBucket(p)
	m.buckets(p)
	m.logs(p)
	return p.Stack
}

// bucketOutput is the output that always names the cluster's bucket.
const bucketOutput = "BucketName"

// clusterBucket holds muster's programs, the cluster's files and its secrets. It is
// the file's CustomS3Bucket if there is one. Its name is CloudFormation's choice: a
// bucket that a former cluster of the same name has left does no harm.
func (m *maker) clusterBucket(p *part) {
	if own := m.file.CustomS3Bucket; own != "" {
		m.bucket = existing(own)
		p.Template.Outputs = append(p.Template.Outputs, cfn.Output{Name: bucketOutput, Value: cfn.Lit(own)})
		return
	}
	properties := m.bucketOf("bucket")
	properties.VersioningConfiguration = &cfn.Versioning{Status: "Enabled"}
	properties.LifecycleConfiguration = &cfn.Lifecycle{Rules: []cfn.LifecycleRule{{
		Id: "old", Status: "Enabled", NoncurrentVersionExpiration: &cfn.Noncurrent{NoncurrentDays: 30},
		AbortIncompleteMultipartUpload: &cfn.Abort{DaysAfterInitiation: 7},
	}}}
	p.add(cfn.Resource{ID: "Bucket", Policy: cfn.Retain, Properties: properties})
	p.add(cfn.Resource{ID: "BucketPolicy", Policy: cfn.Retain, Properties: cfn.BucketPolicy{
		Bucket: cfn.Ref("Bucket"), PolicyDocument: tlsOnly(cfn.Att("Bucket", "Arn"), cfn.Sub("${Bucket.Arn}/*")),
	}})
	m.bucket = p.out(bucketOutput, "Bucket")
}

// buckets are those of muster.yaml, unless they are there already. They hold data
// and outlive the cluster.
func (m *maker) buckets(p *part) {
	for i, name := range m.work.Buckets {
		if m.facts.Exists[name] {
			continue
		}
		id := "DataBucket" + strconv.Itoa(i+1)
		properties := m.bucketOf("data-" + name)
		properties.BucketName = name
		properties.LifecycleConfiguration = &cfn.Lifecycle{Rules: []cfn.LifecycleRule{{
			Id: "unfinished", Status: "Enabled", AbortIncompleteMultipartUpload: &cfn.Abort{DaysAfterInitiation: 7},
		}}}
		p.add(cfn.Resource{ID: id, Policy: cfn.Retain, Properties: properties})
		p.add(cfn.Resource{ID: id + "Policy", Policy: cfn.Retain, Properties: cfn.BucketPolicy{
			Bucket: cfn.Ref(id), PolicyDocument: tlsOnly(cfn.Lit(m.s3(name)), cfn.Lit(m.s3(name+"/*"))),
		}})
	}
}

func (m *maker) bucketOf(name string) cfn.Bucket {
	return cfn.Bucket{
		BucketEncryption: cfn.BucketEncryption{ServerSideEncryptionConfiguration: []cfn.EncryptionRule{
			{ServerSideEncryptionByDefault: cfn.EncryptionDefault{SSEAlgorithm: "AES256"}},
		}},
		OwnershipControls: cfn.Ownership{Rules: []cfn.OwnershipRule{{ObjectOwnership: "BucketOwnerEnforced"}}},
		PublicAccessBlockConfiguration: cfn.PublicAccess{
			BlockPublicAcls: true, BlockPublicPolicy: true, IgnorePublicAcls: true, RestrictPublicBuckets: true,
		},
		Tags: m.tags(name),
	}
}

// tlsOnly refuses requests that are not encrypted.
func tlsOnly(resources ...cfn.Text) cfn.Policies {
	return policies(cfn.Statement{
		Sid: "EncryptedConnectionsOnly", Effect: "Deny", Principal: &cfn.Principal{AWS: "*"}, Action: []string{"s3:*"}, Resource: resources,
		Condition: when("Bool", "aws:SecureTransport", cfn.Lit("false")),
	})
}

// logGroupName is where the cluster's logs are.
func (m *maker) logGroupName() string { return "/aws/muster/" + m.facts.Name }

// logs makes the log group, unless a former cluster of the same name has left it.
func (m *maker) logs(p *part) {
	own := m.file.Monitoring.Logs
	if !own.Enabled {
		return
	}
	name := m.logGroupName()
	m.logGroup = existing(name)
	if m.facts.Exists[name] {
		return
	}
	p.add(cfn.Resource{ID: "LogGroup", Policy: cfn.Policy(own.DeletionPolicy), Properties: cfn.LogGroup{
		LogGroupName: name, RetentionInDays: own.RetentionDays, Tags: m.tags("logs"),
	}})
}
