package templates

import (
	"fmt"
	"slices"
	"strings"
)

// machine is a kind of instance that a world starts: the head node, a compute
// resource, a pool of login nodes.
type machine struct {
	role string // "head node", "queue Q/RESOURCE", "login POOL"
	// template and instance are IDs of resources; instance is empty but for the head
	// node.
	template, instance string
}

// group is the role without its compute resource: what has one role of IAM and one
// set of security groups.
func (m machine) group() string {
	group, _, _ := strings.Cut(m.role, "/")
	return group
}

// machines are found by how launch templates are used and tagged.
func (w world) machines() []machine {
	var all []machine
	for id, r := range w.resources {
		data := at(r.Properties, "LaunchTemplateData")
		switch r.Type {
		case "AWS::EC2::Instance":
			all = append(all, machine{"head node", follow(at(r.Properties, "LaunchTemplate.LaunchTemplateId")), id})
		case "AWS::EC2::LaunchTemplate":
			tags := at(data, "TagSpecifications.0.Tags")
			queue := tag(tags, "parallelcluster:queue-name", "muster:queue")
			resource := tag(tags, "parallelcluster:compute-resource-name", "muster:resource")
			if queue != "" && resource != "" {
				all = append(all, machine{"queue " + queue + "/" + resource, id, ""})
			}
			if pool := tag(tags, "parallelcluster:login-nodes-pool-name", "muster:pool"); pool != "" {
				all = append(all, machine{"login " + pool, id, ""})
			}
		}
	}
	slices.SortFunc(all, func(a, b machine) int { return strings.Compare(a.role, b.role) })
	return all
}

// interfaces are those of a machine. A network interface that is a resource of its
// own stands for the one that it is plugged in as.
func (w world) interfaces(m machine) []any {
	var all []any
	for _, one := range list(at(w.resources[m.template].Properties, "LaunchTemplateData.NetworkInterfaces")) {
		own := w.resources[follow(at(one, "NetworkInterfaceId"))].Properties
		if own == nil {
			all = append(all, one)
			continue
		}
		merged := map[string]any{"DeviceIndex": at(one, "DeviceIndex")}
		for k, v := range own {
			if k == "GroupSet" {
				k = "Groups"
			}
			merged[k] = v
		}
		all = append(all, merged)
	}
	return all
}

// groups are the security groups of a machine's first interface.
func (w world) groups(m machine) []any {
	all := w.interfaces(m)
	if len(all) == 0 {
		return nil
	}
	return list(at(all[0], "Groups"))
}

// rights are what a machine's role of IAM allows: for each action "anything", or
// "limited" where resources or conditions narrow it; for S3 the actions of each
// resource.
func (w world) rights(m machine) map[string]string {
	id := w.roleOf(m)
	role, ok := w.resources[id]
	if !ok {
		return nil
	}
	have := map[string]string{"PermissionsBoundary": "", "Path": fmt.Sprint(at(role.Properties, "Path"))}
	if boundary := at(role.Properties, "PermissionsBoundary"); boundary != nil {
		have["PermissionsBoundary"] = fmt.Sprint(boundary)
	}
	for _, arn := range list(at(role.Properties, "ManagedPolicyArns")) {
		have["policy "+afterSlash(fmt.Sprint(arn))] = "attached"
	}
	for _, policy := range list(at(role.Properties, "Policies")) {
		allowed(at(policy, "PolicyDocument.Statement"), have)
	}
	for _, r := range w.resources {
		if r.Type == "AWS::IAM::Policy" && slices.ContainsFunc(list(r.Properties["Roles"]), func(v any) bool { return follow(v) == id }) {
			allowed(at(r.Properties, "PolicyDocument.Statement"), have)
		}
	}
	return have
}

// roleOf is the ID of a machine's role, empty if the role is no resource.
func (w world) roleOf(m machine) string {
	profile := at(w.resources[m.template].Properties, "LaunchTemplateData.IamInstanceProfile")
	id := follow(at(profile, "Name"))
	if id == "" {
		id = follow(at(profile, "Arn"))
	}
	return follow(at(w.resources[id].Properties, "Roles.0"))
}

// roles are those of all machines.
func (w world) roles() map[string]bool {
	all := map[string]bool{}
	for _, m := range w.machines() {
		all[w.roleOf(m)] = true
	}
	return all
}

// allowed adds what statements allow.
func allowed(statements any, have map[string]string) {
	for _, s := range list(statements) {
		resources := list(at(s, "Resource"))
		for _, action := range list(at(s, "Action")) {
			name := fmt.Sprint(action)
			if strings.HasPrefix(name, "s3:") {
				for _, r := range resources {
					key := "S3 " + afterColons(fmt.Sprint(r))
					have[key] = merged(have[key], name)
				}
				continue
			}
			scope := "limited"
			if at(s, "Condition") == nil && len(resources) == 1 && resources[0] == "*" {
				scope = "anything"
			}
			if have[name] != "anything" {
				have[name] = scope
			}
		}
	}
}

// merged is a list of words with one more.
func merged(list, word string) string {
	words := strings.Fields(strings.ReplaceAll(list, ",", " "))
	if !slices.Contains(words, word) {
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func afterSlash(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

func afterColons(s string) string { _, name, _ := strings.Cut(s, ":::"); return name }
