package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/efs"

	"github.com/muster-hpc/muster/test/cloud"
)

// TestNamesOfMountTargets are there when there is a mount target, and late then.
func TestNamesOfMountTargets(t *testing.T) {
	c := cloud.Start(t, cloud.Options{})
	b := &bridge{aws: c.Config()}
	files, machines := efs.NewFromConfig(c.Config()), ec2.NewFromConfig(c.Config())
	made, err := files.CreateFileSystem(t.Context(), &efs.CreateFileSystemInput{CreationToken: aws.String("x")})
	if err != nil {
		t.Fatal(err)
	}
	mounts := func() bool {
		_, err := b.fileSystem(t.Context(), *made.FileSystemId+".efs.us-east-2.amazonaws.com:/")
		return err == nil
	}
	for range 2 {
		if mounts() {
			t.Error("it is mounted without a mount target")
		}
	}
	subnets, err := machines.DescribeSubnets(t.Context(), nil)
	if err != nil || len(subnets.Subnets) == 0 {
		t.Fatalf("subnets %v, %v", subnets, err)
	}
	if _, err := files.CreateMountTarget(t.Context(), &efs.CreateMountTargetInput{FileSystemId: made.FileSystemId, SubnetId: subnets.Subnets[0].SubnetId}); err != nil {
		t.Fatal(err)
	}
	b.named.Clear()
	if mounts() {
		t.Error("it is mounted at once")
	}
	if !mounts() {
		t.Error("it is never mounted")
	}
}
