package spec_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestView_sees_keys_where_they_belong looks at keys that stand at a wrong place
// or are misspelt: rules see them at the right one.
func TestView_sees_keys_where_they_belong(t *testing.T) {
	queue := func(v spec.View) spec.View { return v.At("Scheduling.SlurmQueues").Items()[0] }
	resource := func(v spec.View) spec.View { return queue(v).Key("ComputeResources").Items()[0] }
	for _, row := range []struct {
		name, old, new string
		look           func(spec.View) string
		want           string
	}{
		{"at_the_top", "Region:", "ScaledownIdletime: 7\nRegion:", func(v spec.View) string { return v.At("Scheduling.SlurmSettings.ScaledownIdletime").Text() }, "5"},
		{"at_the_top_alone", "  SlurmSettings:\n    ScaledownIdletime: 5\n", "  SlurmSettings: {}\n  ScaledownIdletime: 7\n", func(v spec.View) string { return v.At("Scheduling.SlurmSettings.ScaledownIdletime").Text() }, "7"},
		{"without_its_map", "  SlurmSettings:\n    ScaledownIdletime: 5\n", "  ScaledownIdletime: 7\n", func(v spec.View) string { return v.At("Scheduling.SlurmSettings.ScaledownIdletime").Text() }, "7"},
		{"misspelt", "Region: us-east-1", "Reigon: us-east-1", func(v spec.View) string { return v.Key("Region").Text() }, "us-east-1"},
		{"misspelt_in_a_list", "MaxCount: 4", "Maxcount: 4", func(v spec.View) string { return resource(v).Key("MaxCount").Text() }, "4"},
		{"below_the_map_around", "MaxCount: 4", "Efa: {Enabled: true, MaxCount: 6}", func(v spec.View) string { return resource(v).Key("MaxCount").Text() }, "6"},
		{"subnet_of_the_head_node", "  Networking:\n    SubnetId: subnet-0123456789abcdef0", "  SubnetId: subnet-01234567", func(v spec.View) string { return v.At("HeadNode.Networking.SubnetId").Text() }, "subnet-01234567"},
		{"not_indented", "  Networking:\n    SubnetId: subnet-0123456789abcdef0", "  Networking:\n  ElasticIp: true\n  SubnetId: subnet-01234567", func(v spec.View) string { return v.At("HeadNode.Networking.SubnetId").Text() }, "subnet-01234567"},
		{"subnets_of_a_queue", "    - Name: gpu\n", "    - Name: gpu\n      SubnetIds: [subnet-01234567]\n", func(v spec.View) string { return strings.Join(queue(v).At("Networking.SubnetIds").Texts(), " ") }, "subnet-01234567"},
		{"resources_of_two_queues", "      ComputeResources:\n        - Name: small", "      Efa: {Enabled: true}\n      ComputeResources:\n        - Name: small", func(v spec.View) string { return resource(v).At("Efa.Enabled").Text() }, ""},
		{"several_that_share_a_value", "    - Name: cpu\n", "    - &q\n      Name: cpu\n      Tagz: [{Key: a, Value: b}]\n    - *q\n    - Name: more\n",
			func(v spec.View) string {
				return v.At("Scheduling.SlurmQueues").Items()[2].Key("Tags").Items()[0].Key("Key").Text()
			}, "a"},
		{"a_value_with_its_own_home", "Region:", "DevSettings: &d {NodePackage: p}\nCookbook: *d\nRegion:", func(v spec.View) string { return v.At("DevSettings.Cookbook.ChefCookbook").Text() }, ""},
		{"a_value_with_its_own_home_below", "Region:", "DevSettings: &d {Cookbook: &c {ChefCookbook: x}}\nTimeouts: {a: *d, b: *c}\nRegion:", func(v spec.View) string { return v.At("DevSettings.Cookbook.ChefCookbook").Text() }, "x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := spec.OpenText("cluster.yaml", []byte(replace(t, row.old, row.new)), spec.Options{AWS: true})
			root, ok := f.Root()
			if !ok {
				t.Fatal(text(t, f.Problems))
			}
			if got := row.look(root); got != row.want {
				t.Errorf("got %q, want %q\n%s", got, row.want, text(t, f.Problems))
			}
			if !f.Problems.HasErrors() {
				t.Error("nothing is wrong")
			}
		})
	}
}

// TestOpenText_reports_what_is_not_indented_once holds that a map is not said to
// be empty beside the keys that belong into it.
func TestOpenText_reports_what_is_not_indented_once(t *testing.T) {
	for _, row := range []struct{ name, new, want string }{
		{"one", "  Networking:\n  SubnetId: subnet-01234567", `"SubnetId" is not a key of HeadNode`},
		{"a_wrong_value", "  Networking:\n  ElasticIp: true\n  SubnetId: x", `"ElasticIp" is not a key of HeadNode; "SubnetId" is not a key of HeadNode; "x" is no AWS id`},
		{"not_all", "  Networking:\n  ElasticIp: true", `the head node names no subnet; ParallelCluster refuses a file without it, muster makes the network; "ElasticIp" is not a key of HeadNode`},
		{"a_key_between", "  Networking:\n  Imds: {Secured: true}\n  SubnetId: subnet-01234567", `Networking has no value; "SubnetId" is not a key of HeadNode`},
		{"empty", "  Networking:", `Networking has no value`},
	} {
		t.Run(row.name, func(t *testing.T) {
			data := replace(t, "  Networking:\n    SubnetId: subnet-0123456789abcdef0", row.new)
			f := spec.OpenText("cluster.yaml", []byte(data), spec.Options{AWS: true})
			var got []string
			for _, d := range f.Problems.All() {
				if d.Severity == diag.Error || d.Code == "network/none" && strings.HasPrefix(d.Path, "HeadNode") {
					got = append(got, d.Message)
				}
			}
			if got := strings.Join(got, "; "); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestView_sees_the_guides_queues(t *testing.T) {
	f := spec.Open("testdata/bad/guide.yaml", spec.Options{AWS: true})
	root, _ := f.Root()
	queues := root.At("Scheduling.SlurmQueues").Items()
	if len(queues) != 1 || queues[0].Key("ComputeResources").Items()[0].Key("MaxCount").Int() != 80 {
		t.Errorf("%d queues", len(queues))
	}
	if got := queues[0].Key("Name").Line(); got != 25 {
		t.Errorf("the queue's name is in line %d", got)
	}
}

// TestOpenText_reports_a_lack_beside_a_slip holds that a misspelt key in one
// queue does not hide that another queue lacks it, and that a subnet at a wrong
// place is no lack of a network.
func TestOpenText_reports_a_lack_beside_a_slip(t *testing.T) {
	for _, row := range []struct{ name, old, new, code, want string }{
		{"names", "    - Name: gpu\n", "    - Nam: gpu\n      ComputeResources: []\n    - ComputeResources: []\n    - Name: other\n", "schema/required", "Scheduling.SlurmQueues[1].Name"},
		{"subnets", "  Networking:\n    SubnetId: subnet-0123456789abcdef0", "  SubnetId: subnet-01234567", "network/none", "Scheduling.SlurmQueues[0].Networking Scheduling.SlurmQueues[1].Networking"},
		{"networks", "  Networking:", "  Netwroking:", "network/none", "Scheduling.SlurmQueues[0].Networking Scheduling.SlurmQueues[1].Networking"},
	} {
		f := spec.OpenText("cluster.yaml", []byte(replace(t, row.old, row.new)), spec.Options{AWS: true})
		if got := strings.Join(paths(f.Problems, row.code), " "); got != row.want {
			t.Errorf("%s: got %s, want %s\n%s", row.name, got, row.want, text(t, f.Problems))
		}
	}
}

// paths are those of the problems with a code.
func paths(l *diag.List, code string) []string {
	var all []string
	for _, d := range l.All() {
		if d.Code == code {
			all = append(all, d.Path)
		}
	}
	return all
}
