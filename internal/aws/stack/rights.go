package stack

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// object is a resource of IAM: keys of the cluster's bucket.
func (m *maker) object(p *part, key string) cfn.Text {
	return cfn.Sub(m.s3(p.sub(m.bucket) + "/" + key))
}

// commonRights are what every machine may: read what the cluster is, and write its
// logs. A job on a node may do the same, since the metadata service gives the node's
// rights to all users: no right here may reveal a secret, or decide anything.
func (m *maker) commonRights(p *part) []cfn.Statement {
	name := m.facts.Name
	out := []cfn.Statement{
		allow("ReadCluster", []string{"s3:GetObject"},
			m.object(p, "programs/*"), m.object(p, manifest.SiteKey(name)), m.object(p, manifest.FileKey(name)),
			m.object(p, manifest.WorkloadKey(name)), m.object(p, manifest.SharedPrefix(name)+"*")),
		m.seeRights(p),
	}
	if m.file.Monitoring.Logs.Enabled {
		out = append(out, allow("WriteLogs", []string{"logs:CreateLogStream", "logs:PutLogEvents"},
			cfn.Lit(m.arn("logs", "log-group:"+m.logGroupName()+":*"))))
	}
	if shares := m.authorizedShares(p); len(shares) > 0 {
		out = append(out, allow("MountEfs", []string{
			"elasticfilesystem:ClientMount", "elasticfilesystem:ClientRootAccess", "elasticfilesystem:ClientWrite",
		}, shares...))
	}
	return out
}

// seeRights are for objects that are not there: without the right to list, S3 says of them
// that they are forbidden. A bucket of the file's may have other clusters' and users'
// objects, whose names are not for this cluster's jobs. It is not documented that S3 knows the
// prefix where it only looks whether an object is there, so that it may be missing.
func (m *maker) seeRights(p *part) cfn.Statement {
	see := allow("SeeThatNothingIsThere", []string{"s3:ListBucket"}, cfn.Sub(m.s3(p.sub(m.bucket))))
	if m.file.CustomS3Bucket == "" {
		return see
	}
	return only(see, when("StringLikeIfExists", "s3:prefix", cfn.Lit("clusters/"+m.facts.Name+"/*"), cfn.Lit("programs/*")))
}

// authorizedShares are the EFS that ask for rights of IAM.
func (m *maker) authorizedShares(p *part) []cfn.Text {
	var out []cfn.Text
	for _, one := range m.mounts {
		if one.efs.IAM {
			out = append(out, cfn.Sub(m.arn("elasticfilesystem", "file-system/"+p.sub(one.ids[0]))))
		}
	}
	return out
}

// computeRights are those of compute nodes. They need none of EC2: the head node
// knows them, and they prove their identity to it.
func (m *maker) computeRights(p *part) []cfn.Statement { return m.commonRights(p) }

// loginRights are those of login nodes. All their users have them: Session Manager's are
// not among them.
func (m *maker) loginRights(p *part, l spec.LoginPool) []cfn.Statement {
	return append(m.commonRights(p), m.dcvRights(l.DCV)...)
}

// dcvRights let NICE DCV find its licence, where people have desktops.
func (m *maker) dcvRights(d spec.DCV) []cfn.Statement {
	if !d.Enabled {
		return nil
	}
	return []cfn.Statement{allow("DcvLicense", []string{"s3:GetObject"}, cfn.Lit(m.s3("dcv-license."+m.facts.Region+"/*")))}
}

// sessions is what Session Manager needs to reach a machine.
func sessions() cfn.Statement {
	return allow("SessionManager", []string{
		"ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
		"ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
	}, everything())
}

// headRights are those of the head node, which starts and ends the fleet.
func (m *maker) headRights(p *part, passed []string) []cfn.Statement {
	out := append(m.commonRights(p), sessions())
	out = append(out, m.dcvRights(m.file.HeadNode.DCV)...)
	out = append(out, m.bucketRights(p)...)
	out = append(out, m.exportRights()...)
	out = append(out, m.metricRights(), m.lookRights())
	out = append(out, m.launchRights(p)...)
	out = append(out, m.fleetRights()...)
	out = append(out, only(allow("PassRole", []string{"iam:PassRole"}, cfn.Lits(passed...)...),
		when("StringEquals", "iam:PassedToService", cfn.Lit("ec2."+m.domain()))))
	if z := m.zone; !z.absent() {
		out = append(out, allow("NameNodes", []string{"route53:ChangeResourceRecordSets"},
			cfn.Sub("arn:"+m.facts.Partition+":route53:::hostedzone/"+p.sub(z))))
	}
	out = append(out, m.serviceRoles()...)
	out = append(out, m.secretRights()...)
	return append(out, m.linkRights()...)
}

// serviceRoles let the first spot request and the first fleet of an account make the
// role that AWS works under.
func (m *maker) serviceRoles() []cfn.Statement {
	var services []string
	for _, q := range m.file.Scheduling.Queues {
		if q.CapacityType == "SPOT" {
			services = append(services, "spot.amazonaws.com")
		}
		for _, r := range q.ComputeResources {
			if r.Several {
				services = append(services, "ec2fleet.amazonaws.com")
			}
		}
	}
	services = unique(services)
	if len(services) == 0 {
		return nil
	}
	var roles []cfn.Text
	for _, name := range services {
		roles = append(roles, cfn.Lit("arn:"+m.facts.Partition+":iam::"+m.facts.Account+":role/aws-service-role/"+name+"/*"))
	}
	return []cfn.Statement{only(allow("MakeServiceRoles", []string{"iam:CreateServiceLinkedRole"}, roles...),
		when("StringEquals", "iam:AWSServiceName", cfn.Lits(services...)...))}
}

// bucketRights let the head node read what the user's machine says to it, and answer.
// What the user's machine believes of the cluster, or executes, is not its to write.
func (m *maker) bucketRights(p *part) []cfn.Statement {
	name := m.facts.Name
	return []cfn.Statement{
		allow("ReadWishes", []string{"s3:GetObject"}, m.object(p, "clusters/"+name+"/*")),
		allow("OwnObjects", []string{"s3:AbortMultipartUpload", "s3:PutObject"},
			m.object(p, manifest.HeadKey(name)), m.object(p, manifest.SharedPrefix(name)+"*")),
	}
}

// exportRights let the head node bring files to the buckets of muster.yaml's exports, below
// their prefixes alone, and delete there only what an export may.
func (m *maker) exportRights() []cfn.Statement {
	var out []cfn.Statement
	var write, remove []cfn.Text
	for i, e := range m.work.Exports {
		keys := cfn.Lit(m.s3(e.Bucket + "/" + e.Prefix + "*"))
		write = append(write, keys)
		if slices.Contains(e.Policy, "DELETED") || e.KeepLast > 0 {
			remove = append(remove, keys)
		}
		list := allow("ExportList"+strconv.Itoa(i+1), []string{"s3:ListBucket"}, cfn.Lit(m.s3(e.Bucket)))
		if e.Prefix != "" { // that a bucket is there is asked without a prefix
			list = only(list, when("StringLikeIfExists", "s3:prefix", cfn.Lit(e.Prefix+"*")))
		}
		out = append(out, list)
	}
	if len(write) > 0 {
		out = append(out, allow("ExportWrite", []string{"s3:AbortMultipartUpload", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"}, write...))
	}
	if len(remove) > 0 {
		out = append(out, allow("ExportDelete", []string{"s3:DeleteObject"}, remove...))
	}
	return out
}

// linkRights let the head node compare what FSx for Lustre exports with its bucket: read, below the prefixes alone. Without
// the right to list, S3 says of what is not there that it is forbidden.
func (m *maker) linkRights() []cfn.Statement {
	var buckets []string
	var read []string
	prefixes := map[string][]string{}
	for _, s := range m.file.SharedStorage {
		for _, r := range s.Repositories {
			if r.Exports() {
				buckets = append(buckets, r.Bucket)
				prefixes[r.Bucket] = append(prefixes[r.Bucket], r.Prefix)
				read = append(read, m.s3(r.Bucket+"/"+r.Prefix+"*"))
			}
		}
	}
	var out []cfn.Statement
	for i, bucket := range unique(buckets) {
		list := allow("LinkList"+strconv.Itoa(i+1), []string{"s3:ListBucket"}, cfn.Lit(m.s3(bucket)))
		if !slices.Contains(prefixes[bucket], "") {
			list = only(list, when("StringLikeIfExists", "s3:prefix", below(prefixes[bucket])...))
		}
		out = append(out, list)
	}
	if len(read) > 0 {
		out = append(out, allow("LinkRead", []string{"s3:GetObject"}, cfn.Lits(unique(read)...)...))
	}
	return out
}

// below are patterns of what is below prefixes.
func below(prefixes []string) []cfn.Text {
	var out []cfn.Text
	for _, p := range unique(prefixes) {
		out = append(out, cfn.Lit(p+"*"))
	}
	return out
}

// metricRights let the head node say how full it is. The alarms believe it.
func (m *maker) metricRights() cfn.Statement {
	return only(allow("WriteMetrics", []string{"cloudwatch:PutMetricData"}, everything()),
		when("StringEquals", "cloudwatch:namespace", cfn.Lit(manifest.MetricNamespace)))
}

// lookRights are calls that AWS does not narrow down to resources.
func (m *maker) lookRights() cfn.Statement {
	return only(allow("LookAtFleet", []string{
		"ec2:DescribeCapacityReservations", "ec2:DescribeFleets", "ec2:DescribeInstanceStatus", "ec2:DescribeInstances",
	}, everything()), when("StringEquals", "aws:RequestedRegion", cfn.Lit(m.facts.Region)))
}

// launchRights let the head node start instances of the cluster's launch templates
// alone, in the subnets of the queues.
func (m *maker) launchRights(p *part) []cfn.Statement {
	launch := []string{"ec2:CreateFleet", "ec2:RunInstances"}
	made := m.launched()
	out := []cfn.Statement{
		only(allow("LaunchFromOwnTemplates", launch, cfn.Lit(m.arn("ec2", "launch-template/*"))),
			when("StringEquals", "aws:ResourceTag/muster:cluster", cfn.Lit(m.facts.Name))),
		allow("LaunchInOwnSubnets", launch, m.fleetSubnets(p)...),
		only(allow("LaunchWithTemplate", []string{"ec2:RunInstances"}, made...),
			when(m.withTemplate(), "ec2:LaunchTemplate", cfn.Lit(m.arn("ec2", "launch-template/*")))),
		// EC2 asks for the right to run instances, too, where a fleet does it.
		allow("CreateFleets", []string{"ec2:CreateFleet"}, append(made, cfn.Lit(m.arn("ec2", "fleet/*")))...),
		only(allow("TagWhatIsLaunched", []string{"ec2:CreateTags"},
			cfn.Lits(m.arn("ec2", "instance/*"), m.arn("ec2", "volume/*"), m.arn("ec2", "fleet/*"), m.arn("ec2", "network-interface/*"))...),
			when("StringEquals", "ec2:CreateAction", cfn.Lit("CreateFleet"), cfn.Lit("RunInstances"))),
	}
	if groups := m.reservationGroups(); len(groups) > 0 {
		out = append(out, allow("LaunchIntoReservations", append(launch, "resource-groups:ListGroupResources"), groups...))
	}
	return out
}

// withTemplate compares the launch template of a call. AWS says that RunInstances tells
// it, and not whether the calls do that CreateFleet makes: where the file has fleets, a
// call that tells none is allowed, too. Subnets and roles bound it all the same.
func (m *maker) withTemplate() string {
	for _, q := range m.file.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			if r.Several {
				return "ArnLikeIfExists"
			}
		}
	}
	return "ArnLike"
}

// launched is what a launch makes and uses, beside its template and its subnet.
// Reservations may be shared by another account.
func (m *maker) launched() []cfn.Text {
	shared := "arn:" + m.facts.Partition + ":ec2:" + m.facts.Region + ":"
	made := cfn.Lits(
		m.arn("ec2", "instance/*"), m.arn("ec2", "key-pair/*"), m.arn("ec2", "network-interface/*"), m.arn("ec2", "placement-group/*"),
		m.arn("ec2", "security-group/*"), m.arn("ec2", "volume/*"), shared+":image/*", shared+":snapshot/*")
	for _, id := range few(m.reserved(func(r spec.Reservation) string { return r.ID })) {
		made = append(made, cfn.Lit(shared+"*:capacity-reservation/"+id))
	}
	return made
}

// fleetSubnets are those of the queues.
func (m *maker) fleetSubnets(p *part) []cfn.Text {
	var ids []string
	for _, q := range m.file.Scheduling.Queues {
		for _, v := range m.queueSubnets(q) {
			ids = append(ids, p.sub(v))
		}
	}
	var out []cfn.Text
	for _, id := range few(unique(ids)) {
		out = append(out, cfn.Sub(m.arn("ec2", "subnet/"+id)))
	}
	return out
}

// mostNamed are as many things as a policy names: IAM limits its size. The launch
// templates, of which only the cluster's own may be used, name all of them.
const mostNamed = 20

// few are the names, or a star for too many.
func few(names []string) []string {
	if len(names) > mostNamed {
		return []string{"*"}
	}
	return names
}

// fleetRights are over instances that are the cluster's compute nodes, and over no
// others.
func (m *maker) fleetRights() []cfn.Statement {
	own := conditions{"StringEquals": {
		"aws:ResourceTag/muster:cluster": {cfn.Lit(m.facts.Name)}, "aws:ResourceTag/muster:role": {cfn.Lit(manifest.RoleCompute)},
	}}
	return []cfn.Statement{only(allow("OwnComputeNodes", []string{
		"ec2:CreateTags", "ec2:GetConsoleOutput", "ec2:TerminateInstances",
	}, cfn.Lit(m.arn("ec2", "instance/*"))), own)}
}

// reserved are the reservations that the file names, by their IDs or their groups.
func (m *maker) reserved(by func(spec.Reservation) string) []string {
	var all []string
	for _, q := range m.file.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			all = append(all, by(r.Reservation))
		}
	}
	return unique(all)
}

func (m *maker) reservationGroups() []cfn.Text {
	return cfn.Lits(m.reserved(func(r spec.Reservation) string { return r.Group })...)
}

// secretRights let the head node read the secrets that the file names.
func (m *maker) secretRights() []cfn.Statement {
	slurm := m.file.Scheduling.Slurm
	named := []string{slurm.MungeKeySecretARN, m.file.DirectorySecretARN}
	if slurm.Database != nil {
		named = slices.Insert(named, 0, slurm.Database.PasswordSecretARN)
	}
	var secrets, parameters []string
	for _, arn := range named {
		if strings.Contains(arn, ":ssm:") {
			parameters = append(parameters, arn)
		} else {
			secrets = append(secrets, arn)
		}
	}
	var out []cfn.Statement
	if all := unique(secrets); len(all) > 0 {
		out = append(out, allow("ReadSecrets", []string{"secretsmanager:GetSecretValue"}, cfn.Lits(all...)...))
	}
	if all := unique(parameters); len(all) > 0 {
		out = append(out, allow("ReadParameters", []string{"ssm:GetParameter"}, cfn.Lits(all...)...))
	}
	return out
}
