package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/spec"
)

// TestModel_takes_over_what_is_said_around holds whose word counts where a file says a thing
// in several places.
func TestModel_takes_over_what_is_said_around(t *testing.T) {
	c := spec.OpenText("cluster.yaml", []byte(`
Image: {Os: alinux2023, CustomAmi: ami-file}
HeadNode: {Ssh: {KeyName: head, AllowedIps: 10.0.0.0/8}}
LoginNodes:
  Pools: [{Name: plain}, {Name: own, Ssh: {AllowedIps: 10.1.0.0/16}, Image: {CustomAmi: ami-pool}}]
Scheduling:
  SlurmQueues:
    - Name: q
      Image: {CustomAmi: ami-queue}
      CapacityReservationTarget: {CapacityReservationResourceGroupArn: arn:group}
      Networking: {PlacementGroup: {Enabled: true}, AssignPublicIp: false}
      ComputeResources:
        - {Name: plain}
        - {Name: own, CapacityReservationTarget: {CapacityReservationId: cr-1}, Networking: {PlacementGroup: {Name: mine}}}
        - {Name: "no", Networking: {PlacementGroup: {Enabled: false}}}
    - {Name: p}
`), spec.Options{}).Model()
	var got []string
	for _, l := range c.LoginPools {
		got = append(got, strings.Join([]string{"pool", l.Name, l.CustomAMI, l.SSH.KeyName, l.SSH.AllowedIPs}, " "))
	}
	for _, q := range c.Scheduling.Queues {
		said := "the subnet's"
		if q.PublicIP != nil {
			said = "its own"
		}
		got = append(got, strings.Join([]string{"queue", q.Name, q.CustomAMI, said}, " "))
		for _, r := range q.ComputeResources {
			grouped := "apart"
			if r.PlacementGroup.Wanted() {
				grouped = "together"
			}
			got = append(got, strings.Join([]string{"resource", r.Name, r.Reservation.Name(), grouped, r.PlacementGroup.Name}, " "))
		}
	}
	want := []string{
		"pool plain ami-file head 10.0.0.0/8", "pool own ami-pool head 10.1.0.0/16",
		"queue q ami-queue its own", "resource plain arn:group together ", "resource own cr-1 together mine", "resource no arn:group apart ",
		"queue p ami-file the subnet's",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestTyped writes the types that a file leaves to reservations into it, in both styles.
func TestTyped(t *testing.T) {
	f := spec.OpenText("cluster.yaml", []byte(`Region: us-east-2
Image: {Os: alinux2023}
HeadNode: {InstanceType: c5.large}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: q
      ComputeResources:
        - {Name: r, CapacityReservationTarget: {CapacityReservationId: cr-00000000000000002}}
        - Name: s # kept
          CapacityReservationTarget:
            CapacityReservationId: cr-00000000000000001
`), spec.Options{AWS: true})
	if diff := cmp.Diff([]string{"cr-00000000000000001", "cr-00000000000000002"}, f.Untyped()); diff != "" {
		t.Fatalf("want -, got +:\n%s\n%s", diff, text(t, f.Problems))
	}
	if _, err := f.Typed(map[string]string{"cr-00000000000000001": "c5.large"}); err == nil || !strings.Contains(err.Error(), "compute resource r leaves its instance type to the capacity reservation cr-00000000000000002") {
		t.Errorf("a reservation without a type: %v", err)
	}
	typed, err := f.Typed(map[string]string{"cr-00000000000000001": "c5.large", "cr-00000000000000002": "c5.xlarge"})
	if err != nil {
		t.Fatal(err)
	}
	if typed.Cluster == nil || !strings.Contains(string(typed.Text()), "# kept") || len(typed.Untyped()) > 0 {
		t.Fatalf("%s\n%s", typed.Text(), text(t, typed.Problems))
	}
	for i, want := range []string{"c5.xlarge", "c5.large"} {
		if got := typed.Cluster.Scheduling.Queues[0].ComputeResources[i].InstanceTypes; len(got) != 1 || got[0] != want {
			t.Errorf("compute resource %d has %v, want %s", i, got, want)
		}
	}
}
