package stack

import (
	"strings"

	"github.com/muster-hpc/muster/internal/cfn"
	"github.com/muster-hpc/muster/internal/site"
)

// object is a resource of IAM: keys of the cluster's bucket.
func (m *maker) object(p *part, key string) cfn.Text {
	return cfn.Sub(m.s3(p.sub(m.bucket) + "/" + key))
}

// commonRights are what every machine may: read what the cluster is, and say how it
// is.
func (m *maker) commonRights(p *part) []cfn.Statement {
	name := m.facts.Name
	out := []cfn.Statement{
		allow("ReadCluster", []string{"s3:GetObject"},
			m.object(p, "programs/*"), m.object(p, site.SiteKey(name)), m.object(p, site.FileKey(name)),
			m.object(p, site.WorkloadKey(name)), m.object(p, site.SecretsPrefix(name)+"*")),
		only(allow("WriteMetrics", []string{"cloudwatch:PutMetricData"}, everything()),
			when("StringEquals", "cloudwatch:namespace", cfn.Lit(site.MetricNamespace))),
	}
	if m.logsOn() {
		out = append(out, allow("WriteLogs", []string{"logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"},
			cfn.Lit(m.arn("logs", "log-group:"+m.logGroupName()+":*"))))
	}
	if shares := m.authorizedShares(p); len(shares) > 0 {
		out = append(out, allow("MountEfs", []string{
			"elasticfilesystem:ClientMount", "elasticfilesystem:ClientRootAccess", "elasticfilesystem:ClientWrite",
		}, shares...))
	}
	return out
}

// authorizedShares are the EFS that ask for rights of IAM.
func (m *maker) authorizedShares(p *part) []cfn.Text {
	var out []cfn.Text
	for _, one := range m.mounts {
		if one.authorized {
			out = append(out, cfn.Sub(m.arn("elasticfilesystem", "file-system/"+p.sub(one.ids[0]))))
		}
	}
	return out
}

// computeRights are those of compute nodes. They need none of EC2: the head node
// knows them, and they prove to it who they are.
func (m *maker) computeRights(p *part) []cfn.Statement { return m.commonRights(p) }

// loginRights are those of login nodes.
func (m *maker) loginRights(p *part) []cfn.Statement {
	return append(m.commonRights(p), sessions())
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
	out = append(out, m.bucketRights(p)...)
	out = append(out, m.lookRights())
	out = append(out, m.launchRights(p)...)
	out = append(out, m.fleetRights()...)
	out = append(out, only(allow("PassRole", []string{"iam:PassRole"}, cfn.Lits(passed...)...),
		when("StringEquals", "iam:PassedToService", cfn.Lit("ec2."+m.domain()))))
	if z := m.zone; !z.absent() {
		out = append(out, allow("NameNodes", []string{"route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets"},
			cfn.Sub("arn:"+m.facts.Partition+":route53:::hostedzone/"+p.sub(z))))
	}
	return append(out, m.secretRights()...)
}

// bucketRights let the head node keep its state in its part of the bucket.
func (m *maker) bucketRights(p *part) []cfn.Statement {
	own := "clusters/" + m.facts.Name + "/*"
	return []cfn.Statement{
		allow("OwnObjects", []string{"s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"}, m.object(p, own)),
		only(allow("ListOwnObjects", []string{"s3:ListBucket"}, cfn.Sub(m.s3(p.sub(m.bucket)))),
			when("StringLike", "s3:prefix", cfn.Lit(own), cfn.Lit("programs/*"))),
	}
}

// lookRights are calls that AWS does not narrow down to resources.
func (m *maker) lookRights() cfn.Statement {
	return only(allow("LookAtFleet", []string{
		"ec2:DescribeCapacityReservations", "ec2:DescribeFleetInstances", "ec2:DescribeFleets", "ec2:DescribeInstanceStatus",
		"ec2:DescribeInstances", "ec2:DescribeLaunchTemplateVersions", "ec2:DescribeLaunchTemplates", "ec2:DescribeTags",
		"ec2:DescribeVolumes",
	}, everything()), when("StringEquals", "aws:RequestedRegion", cfn.Lit(m.facts.Region)))
}

// launchRights let the head node start instances of the cluster's launch templates
// alone, in the subnets of the queues.
func (m *maker) launchRights(p *part) []cfn.Statement {
	subnets := m.fleetSubnets(p)
	launch := []string{"ec2:CreateFleet", "ec2:RunInstances"}
	with := when("ArnLike", "ec2:LaunchTemplate", cfn.Lit(m.arn("ec2", "launch-template/*")))
	made := cfn.Lits(
		m.arn("ec2", "instance/*"), m.arn("ec2", "network-interface/*"), m.arn("ec2", "volume/*"), m.arn("ec2", "security-group/*"),
		m.arn("ec2", "placement-group/*"), m.arn("ec2", "key-pair/*"),
		"arn:"+m.facts.Partition+":ec2:"+m.facts.Region+"::image/*", "arn:"+m.facts.Partition+":ec2:"+m.facts.Region+"::snapshot/*")
	for _, id := range few(m.targets("CapacityReservationId")) {
		made = append(made, cfn.Lit(m.arn("ec2", "capacity-reservation/"+id)))
	}
	out := []cfn.Statement{
		only(allow("LaunchFromOwnTemplates", launch, cfn.Lit(m.arn("ec2", "launch-template/*"))),
			when("StringEquals", "aws:ResourceTag/muster:cluster", cfn.Lit(m.facts.Name))),
		only(allow("LaunchInOwnSubnets", launch, subnets...), with),
		only(allow("LaunchWithTemplate", launch, made...), with),
		allow("CreateFleets", []string{"ec2:CreateFleet"}, cfn.Lit(m.arn("ec2", "fleet/*"))),
		only(allow("TagWhatIsLaunched", []string{"ec2:CreateTags"},
			cfn.Lits(m.arn("ec2", "instance/*"), m.arn("ec2", "volume/*"), m.arn("ec2", "fleet/*"), m.arn("ec2", "network-interface/*"))...),
			when("StringEquals", "ec2:CreateAction", cfn.Lit("CreateFleet"), cfn.Lit("RunInstances"))),
	}
	if groups := m.reservationGroups(); len(groups) > 0 {
		out = append(out, allow("LaunchIntoReservations", append(launch, "resource-groups:ListGroupResources"), groups...))
	}
	return out
}

// fleetSubnets are those of the queues.
func (m *maker) fleetSubnets(p *part) []cfn.Text {
	var ids []string
	for _, q := range m.queues() {
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

// fleetRights are over instances that are the cluster's compute nodes, and nobody
// else's.
func (m *maker) fleetRights() []cfn.Statement {
	own := conditions{"StringEquals": {
		"aws:ResourceTag/muster:cluster": {cfn.Lit(m.facts.Name)}, "aws:ResourceTag/muster:role": {cfn.Lit(site.RoleCompute)},
	}}
	return []cfn.Statement{only(allow("OwnComputeNodes", []string{
		"ec2:CreateTags", "ec2:GetConsoleOutput", "ec2:RebootInstances", "ec2:TerminateInstances",
	}, cfn.Lit(m.arn("ec2", "instance/*"))), own)}
}

// targets are the reservations that the file names, by the key of their name.
func (m *maker) targets(key string) []string {
	var all []string
	for _, q := range m.queues() {
		for _, r := range q.resources {
			all = append(all, r.target(q).Key(key).Text())
		}
	}
	return unique(all)
}

func (m *maker) reservationGroups() []cfn.Text {
	return cfn.Lits(m.targets("CapacityReservationResourceGroupArn")...)
}

// secretRights let the head node read the secrets that the file names.
func (m *maker) secretRights() []cfn.Statement {
	settings := m.file.At("Scheduling.SlurmSettings")
	var secrets, parameters []string
	for _, arn := range []string{
		settings.At("Database.PasswordSecretArn").Text(), settings.Key("MungeKeySecretArn").Text(),
		m.file.At("DirectoryService.PasswordSecretArn").Text(),
	} {
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
