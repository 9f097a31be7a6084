package nodes_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	sdkec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
)

// TestVolumesHaveTheirTags launches a node whose call's tags are all that EC2 heeds: its
// volume is known as the cluster's, and as no node's.
func TestVolumesHaveTheirTags(t *testing.T) {
	c, config := double(t)
	launchAll(t, open(t, config), false, nodeNames("dy-r", 1, 2)...)
	out, err := sdkec2.NewFromConfig(c.Config()).DescribeVolumes(t.Context(), &sdkec2.DescribeVolumesInput{})
	if err != nil || len(out.Volumes) != 2 {
		t.Fatalf("%d volumes, %v", len(out.Volumes), err)
	}
	for _, v := range out.Volumes {
		tags := map[string]string{}
		for _, tag := range v.Tags {
			tags[sdk.ToString(tag.Key)] = sdk.ToString(tag.Value)
		}
		if tags["muster:cluster"] != "c" || tags["muster:role"] != "compute" || tags["muster:nodes"] != "" || tags["muster:launch"] != "" {
			t.Errorf("tags %v", tags)
		}
	}
}
