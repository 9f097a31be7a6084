package formation

import "testing"

func TestWhichPropertiesNeedANewResource(t *testing.T) {
	for _, row := range []struct{ kind, path, want string }{
		{"AWS::EC2::VPC", "CidrBlock", "Always"},
		{"AWS::EC2::VPC", "Tags", "Never"},
		{"AWS::EC2::VPC", "InstanceTenancy", "Conditionally"},
		{"AWS::EC2::LaunchTemplate", "LaunchTemplateName", "Always"},
		{"AWS::EC2::LaunchTemplate", "LaunchTemplateData", "Never"},
		{"AWS::EC2::Instance", "LaunchTemplate", "Always"},
		{"AWS::EC2::PlacementGroup", "Tags", "Always"},
		{"AWS::FSx::FileSystem", "StorageCapacity", "Never"},
		{"AWS::FSx::FileSystem", "SubnetIds", "Always"},
		{"AWS::FSx::FileSystem", "LustreConfiguration", "Never"},
		{"AWS::FSx::FileSystem", "LustreConfiguration/DeploymentType", "Always"},
		{"AWS::FSx::FileSystem", "LustreConfiguration/PerUnitStorageThroughput", "Never"},
		{"AWS::FSx::DataRepositoryAssociation", "DataRepositoryPath", "Always"},
		{"AWS::FSx::DataRepositoryAssociation", "S3", "Never"},
		{"AWS::S3::Bucket", "BucketName", "Always"},
		{"AWS::IAM::Role", "Policies", "Never"},
	} {
		if got := recreation(row.kind, row.path); got != row.want {
			t.Errorf("%s %s: %s, want %s", row.kind, row.path, got, row.want)
		}
	}
}

func TestEveryKindIsDescribed(t *testing.T) {
	for name, k := range kinds {
		if len(facts[name].Properties) == 0 {
			t.Errorf("kinds.json says nothing of %s", name)
		}
		if k.create == nil || k.remove == nil {
			t.Errorf("%s cannot be made or removed", name)
		}
	}
	for name := range facts {
		if kinds[name] == nil {
			t.Errorf("%s is described and cannot be made", name)
		}
	}
}

func TestPartsOfAPropertyAreCompared(t *testing.T) {
	have := &resource{kind: "AWS::FSx::FileSystem", props: map[string]any{"LustreConfiguration": map[string]any{"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125}}}
	for want, props := range map[string]map[string]any{
		"Never":  {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": "250"},
		"Always": {"DeploymentType": "SCRATCH_2", "PerUnitStorageThroughput": "125"},
	} {
		got := differences(have, map[string]any{"LustreConfiguration": props}, nil)
		if len(got) != 1 || got[0].recreation != want {
			t.Errorf("%v: %v, want %s", props, got, want)
		}
	}
	if got := differences(have, map[string]any{"LustreConfiguration": map[string]any{"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": "125"}}, nil); len(got) != 0 {
		t.Errorf("a number and its text differ: %v", got)
	}
}
