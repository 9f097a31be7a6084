package lint

import "strings"

// account judges quotas and the caller's rights.
func (o online) account() {
	o.quotas()
	if why, no := o.Unasked["aws/rights"]; no {
		o.root.Blindf("aws/rights", "the rights of %s are not looked up: %s", o.Caller, why)
		return
	}
	if len(o.Denied) > 0 {
		o.root.Errorf("aws/denied", "%s may not do what `muster up` does: %s", o.Caller, in(o.Denied)).
			WithHint("docs/aws-policy.json is a policy that allows it all")
	}
	if len(o.Narrow) > 0 {
		o.root.Warnf("aws/narrow", "%s may not do on all resources what `muster up` does, and whether it may on this cluster's is not known: %s", o.Caller, in(o.Narrow)).
			WithHint("docs/aws-policy.json is a policy that allows it all")
	}
	if len(o.Unsure) > 0 {
		o.root.Blindf("aws/rights", "%d rights of %s are not looked up, for its policies have conditions: %s", len(o.Unsure), o.Caller, in(o.Unsure))
	}
}

// quotas judges the vCPUs that the account may have.
func (o online) quotas() {
	if why, no := o.Unasked["aws/quota"]; no {
		quota(o.root, o.all, "could not be asked: "+why)
		return
	}
	for _, d := range demands(o.root, o.all) {
		have, ok := o.Quotas[d.quota]
		switch {
		case !ok:
			o.root.Key("Scheduling").Blindf("aws/quota", "the account's quota of %s is not looked up: the file needs %d vCPUs", d.quota, d.vcpus).
				WithHint("its code is not known; `aws service-quotas list-service-quotas --service-code ec2` lists them")
		case have < d.vcpus:
			o.root.Key("Scheduling").Errorf("quota/vcpus", "the account may have %d vCPUs of %s in %s, and the cluster at its full size needs %d", have, d.quota, o.Region, d.vcpus).
				WithHint("ask for more: Service Quotas, Amazon EC2, %s; it takes days", d.quota)
		}
	}
	o.room()
}

// roles judges whether the file's own roles allow what their machines do.
func (o online) roles() {
	kinds := rolesOf(o.root)
	for _, v := range o.named("aws/role") {
		name := v.Text()
		if why := o.Hidden["aws/role-rights"][name]; why != "" {
			v.Blindf("aws/role-rights", "the rights of %s are not looked up: %s", name, why)
		}
		if lacks := o.Lacks[name]; len(lacks) > 0 {
			v.Warnf("iam/role-rights", "%s does not allow on all resources what %s nodes do: %s", name, strings.Join(kinds[name], " and "), in(lacks)).
				WithHint("without InstanceRole and InstanceProfile muster makes a role that allows no more than that")
		}
	}
}

// vpcs reports networks of subnets about which AWS gave no answer.
func (o online) vpcs() {
	if why, no := o.Unasked["aws/vpc"]; no {
		o.named("aws/subnet")[0].Blindf("aws/vpc", "the VPC of the subnets is not looked up, for its DNS, its routes and the cluster's own addresses: %s", why)
	}
}
