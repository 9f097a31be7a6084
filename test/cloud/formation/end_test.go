package formation_test

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// end ends the machines that have volumes, which do not go from one that runs.
func (d *double) end() {
	d.Helper()
	client := ec2.NewFromConfig(d.cloud.Config())
	volumes, err := client.DescribeVolumes(d.Context(), &ec2.DescribeVolumesInput{})
	d.must(err)
	for _, v := range volumes.Volumes {
		for _, a := range v.Attachments {
			id := aws.ToString(a.InstanceId)
			_, err := client.TerminateInstances(d.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
			d.must(err)
			d.gone(client, id)
		}
	}
}

// gone waits for the end of a machine.
func (d *double) gone(client *ec2.Client, id string) {
	d.Helper()
	for {
		out, err := client.DescribeInstances(d.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
		d.must(err)
		if out.Reservations[0].Instances[0].State.Name == types.InstanceStateNameTerminated {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}
