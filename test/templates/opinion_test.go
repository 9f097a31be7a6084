package templates

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// opinions is what ministack's CloudFormation says when it makes the stacks of all
// goldens and removes them, as opinion.py prints it, and why it may. What it does not
// know is a placeholder there: the resources that depend on it are made all the same.
var opinions = []struct{ says, reason string }{
	{"unknown\tAWS::CloudWatch::CompositeAlarm", "moto makes them, behind the double"},
	{"unknown\tAWS::EC2::EIP", "as above"},
	{"unknown\tAWS::EC2::EIPAssociation", "as above"},
	{"unknown\tAWS::EC2::Instance", "the double makes head nodes"},
	{"unknown\tAWS::EC2::NatGateway", "moto makes them, behind the double"},
	{"unknown\tAWS::EC2::NetworkInterface", "as above"},
	{"unknown\tAWS::EC2::PlacementGroup", "the double makes them"},
	{"unknown\tAWS::EC2::SecurityGroupEgress", "moto makes them, and all traffic is compared with ParallelCluster's"},
	{"unknown\tAWS::EC2::SecurityGroupIngress", "as above"},
	{"unknown\tAWS::EC2::Volume", "moto makes them, behind the double"},
	{"unknown\tAWS::EC2::VolumeAttachment", "as above"},
	{"unknown\tAWS::FSx::DataRepositoryAssociation", "the double has FSx"},
	{"unknown\tAWS::FSx::FileSystem", "as above"},
	{"iam\tcluster\tAdditionalResources: Failed to fetch nested-stack template", "the user's own template, which is in no bucket here"},

	// Faults, to see what its silence about the rest is worth.
	{"damaged\tno such resource\ttaken", "it sees no reference that leads nowhere; cfn-lint does"},
	{"damaged\tno such attribute\tdamaged-1: Requested attribute Nothing does not exist", "seen"},
	{"damaged\tno such property\ttaken", "it has no schemas; cfn-lint does"},
	{"damaged\tno such file system\tX: AWS::EFS::MountTarget create failed: b'{\"ErrorCode\": \"FileSystemNotFound\"", "seen"},
	{"damaged\ta circle\tdamaged-4: Circular dependency detected among resources: X, Y", "seen"},
	{"damaged\ta parameter without a value\tParameter 'X' has no Default and was not provided", "seen"},
	{"damaged\ta role that nobody acknowledged\tRequires capabilities : [CAPABILITY_IAM]", "seen"},
}

// TestOpinion_of_another_CloudFormation makes and removes all stacks in a CloudFormation
// that is neither ours nor moto's: types, order, parameters from outputs, attributes,
// capabilities and limits are right by its lights.
func TestOpinion_of_another_CloudFormation(t *testing.T) {
	python := program(t, "python")
	run := exec.CommandContext(t.Context(), python, append([]string{"opinion.py"}, ourFiles(t)...)...)
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("opinion.py: %v; it said:\n%s", err, out)
	}
	used := make([]bool, len(opinions))
	for line := range strings.Lines(string(out)) {
		known := false
		for i, o := range opinions {
			if strings.HasPrefix(line, o.says) {
				used[i], known = true, true
			}
		}
		if !known {
			t.Errorf("it says: %s", line)
		}
	}
	for i, o := range opinions {
		if !used[i] {
			t.Errorf("it does not say any more: %q", o.says)
		}
	}
}
