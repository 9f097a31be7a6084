package cli_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/muster-hpc/muster/internal/cli"
	"github.com/muster-hpc/muster/internal/place/placetest"
)

// moonFile is a cluster file that every place takes.
const moonFile = `Region: us-east-1
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c6i.4xlarge
  Networking: {SubnetId: subnet-12345678}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
  - Name: gpu
    Networking: {SubnetIds: [subnet-12345678]}
    ComputeResources:
    - {Name: p5e, InstanceType: p5e.48xlarge, MinCount: 0, MaxCount: 2}
`

// onMoon is set for a muster that has one more place.
const onMoon = "MUSTER_TEST_MOON"

// TestNewPlace holds that commands know no place by name: one that they were not written
// for passes the suite of all places.
func TestNewPlace(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, dir := t.TempDir(), t.TempDir()
	placetest.Suite{Place: "moon", Other: "local", File: moonFile, Dir: dir, Muster: func(args ...string) *exec.Cmd {
		cmd := exec.Command(self, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "MUSTER_HOME="+home, onMoon+"=yes", "AWS_EC2_METADATA_DISABLED=true")
		return cmd
	}}.Run(t)
}

// moon runs muster with a place more, if that is wanted of the test's program.
func moon() {
	if os.Getenv(onMoon) != "" {
		cli.AddPlace(placetest.Moon{})
		os.Exit(cli.Main())
	}
}
