package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud"
)

// TestGatewaysByTag has two gateways, one of which has the tag that is asked for.
func TestGatewaysByTag(t *testing.T) {
	a := start(t, cloud.Options{})
	tag := func(value string) []types.Tag {
		return []types.Tag{{Key: aws.String("muster:cluster"), Value: &value}}
	}
	for _, value := range []string{"a", "b"} {
		_, err := a.CreateNatGateway(t.Context(), &sdk.CreateNatGatewayInput{SubnetId: &a.subnet, ConnectivityType: types.ConnectivityTypePrivate,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeNatgateway, Tags: tag(value)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := a.DescribeNatGateways(t.Context(), &sdk.DescribeNatGatewaysInput{
		Filter: []types.Filter{{Name: aws.String("tag:muster:cluster"), Values: []string{"b"}}, {Name: aws.String("state"), Values: []string{"pending", "available"}}},
	})
	if err != nil || len(out.NatGateways) != 1 || aws.ToString(out.NatGateways[0].Tags[0].Value) != "b" {
		t.Errorf("got %+v, %v", out, err)
	}
}
