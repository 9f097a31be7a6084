package stack

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/spec"
)

// sets are those of all files of testdata, by name.
func sets(t *testing.T) map[string]Set {
	t.Helper()
	out := map[string]Set{}
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if strings.HasSuffix(name, ".muster") {
			continue
		}
		root, w := open(t, path)
		set, err := New(root, w, facts(name, root))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = set
	}
	return out
}

func TestInputs_are_outputs_of_earlier_stacks(t *testing.T) {
	for name, set := range sets(t) {
		outputs := map[string]bool{}
		for _, s := range set.Stacks() {
			var parameters []string
			for _, p := range s.Template.Parameters {
				parameters = append(parameters, p.Name)
			}
			if !slices.Equal(parameters, s.Inputs) {
				t.Errorf("%s: parameters %v, inputs %v", s.Name, parameters, s.Inputs)
			}
			for _, in := range s.Inputs {
				if !outputs[in] {
					t.Errorf("%s: input %s is no output of an earlier stack", name, in)
				}
			}
			for _, out := range s.Template.Outputs {
				if outputs[out.Name] {
					t.Errorf("%s: two outputs are called %s", name, out.Name)
				}
				outputs[out.Name] = true
			}
		}
	}
}

// reference is what Ref, Fn::GetAtt and Fn::Sub name in a template.
var reference = regexp.MustCompile(`"Ref":"([A-Za-z0-9]+)"|"Fn::GetAtt":\["([A-Za-z0-9]+)"|\$\{([A-Za-z0-9]+)[}.]`)

func TestReferences_name_what_is_there(t *testing.T) {
	for name, set := range sets(t) {
		for _, s := range set.Stacks() {
			body, err := s.Body()
			if err != nil {
				t.Fatal(err)
			}
			there := map[string]bool{}
			for _, in := range s.Inputs {
				there[in] = true
			}
			for _, r := range s.Template.Resources {
				there[r.ID] = true
			}
			for _, m := range reference.FindAllStringSubmatch(string(body), -1) {
				if id := m[1] + m[2] + m[3]; !there[id] {
					t.Errorf("%s: %s refers to %s", name, s.Name, id)
				}
			}
			for _, r := range s.Template.Resources {
				for _, id := range r.DependsOn {
					if !there[id] {
						t.Errorf("%s: %s depends on %s", name, r.ID, id)
					}
				}
			}
		}
	}
}

func TestResources_are_described(t *testing.T) {
	for name, set := range sets(t) {
		total := 0
		for _, s := range set.Stacks() {
			total += len(s.Template.Resources)
		}
		made := set.Resources()
		if len(made) != total {
			t.Errorf("%s: %d of %d resources are described", name, len(made), total)
		}
		for _, d := range made {
			if d.What == "" || d.What == d.Type {
				t.Errorf("%s: %s (%s) has no words", name, d.ID, d.Type)
			}
		}
	}
}

func TestResources_carry_the_cluster_as_a_tag(t *testing.T) {
	bare := []string{
		"AWS::CloudWatch::Dashboard", "AWS::EC2::EIPAssociation", "AWS::EC2::Route", "AWS::EC2::SecurityGroupEgress",
		"AWS::EC2::SecurityGroupIngress", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPCGatewayAttachment",
		"AWS::EC2::VolumeAttachment", "AWS::EFS::MountTarget", "AWS::ElasticLoadBalancingV2::Listener",
		"AWS::IAM::InstanceProfile", "AWS::S3::BucketPolicy",
	}
	for name, set := range sets(t) {
		for _, s := range set.Stacks() {
			for _, r := range s.Template.Resources {
				body, err := json.Marshal(r.Properties)
				if err != nil {
					t.Fatal(err)
				}
				tagged := strings.Contains(string(body), `"Key":"muster:cluster","Value":"`+name+`"`)
				if tagged == slices.Contains(bare, r.Properties.Type()) {
					t.Errorf("%s: %s (%s): tagged is %v", name, r.ID, r.Properties.Type(), tagged)
				}
			}
		}
	}
}

func TestSite_is_whole_with_all_outputs(t *testing.T) {
	for name, set := range sets(t) {
		outputs := map[string]string{}
		for _, s := range set.Stacks() {
			for _, o := range s.Template.Outputs {
				outputs[o.Name] = "the " + o.Name
			}
		}
		got, err := set.Site(outputs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, subnets := range got.Subnets {
			if len(subnets) == 0 || subnets[0] == "" {
				t.Errorf("%s: subnets %v", name, got.Subnets)
			}
		}
		for _, s := range got.Storage {
			if len(s.IDs) == 0 || s.IDs[0] == "" || s.Type != spec.EBS && (s.Host == "" || s.Export == "") {
				t.Errorf("%s: storage %+v", name, s)
			}
		}
		if _, err := set.Site(nil); name == "least" && (err == nil || !strings.Contains(err.Error(), "BucketName")) {
			t.Errorf("without outputs: %v", err)
		}
	}
}

func TestNew_gives_the_same_bytes_again(t *testing.T) {
	one, other := sets(t), sets(t)
	for name := range one {
		for i, s := range one[name].Stacks() {
			a, _ := s.Body()
			b, _ := other[name].Stacks()[i].Body()
			if string(a) != string(b) {
				t.Errorf("%s differs from one time to the next", s.Name)
			}
		}
	}
}

func TestWidened_keeps_what_later_stacks_use(t *testing.T) {
	all := sets(t)
	before, after := all["login"], all["least"]
	former, err := before.Base.Body()
	if err != nil {
		t.Fatal(err)
	}
	body, wider, err := after.Base.Widened(former)
	if err != nil || !wider {
		t.Fatalf("wider is %v, %v", wider, err)
	}
	var template struct{ Resources, Outputs map[string]json.RawMessage }
	if err := json.Unmarshal(body, &template); err != nil {
		t.Fatal(err)
	}
	for _, in := range before.Cluster.Inputs {
		if _, ok := template.Outputs[in]; !ok && !strings.HasPrefix(in, "Efs") {
			t.Errorf("output %s is gone", in)
		}
	}
	own, err := after.Base.Body()
	if err != nil {
		t.Fatal(err)
	}
	if same, wider, err := after.Base.Widened(own); err != nil || wider || string(same) != string(own) {
		t.Errorf("a stack is wider than itself: %v, %v", wider, err)
	}
}

func TestRules_are_there_once(t *testing.T) {
	for name, set := range sets(t) {
		seen := map[string]string{}
		for _, r := range set.Base.Template.Resources {
			switch r.Properties.(type) {
			case cfn.Ingress, cfn.Egress:
			default:
				continue
			}
			body, err := json.Marshal(r.Properties)
			if err != nil {
				t.Fatal(err)
			}
			key := r.Properties.Type() + string(body)
			if other, twice := seen[key]; twice {
				t.Errorf("%s: %s and %s are one rule", name, other, r.ID)
			}
			seen[key] = r.ID
		}
	}
}
