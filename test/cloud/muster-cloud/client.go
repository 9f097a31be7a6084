package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/muster-hpc/muster/test/cloud"
)

// outsideVariable is where the double can be reached from outside its network.
const outsideVariable = "MUSTER_CLOUD_OUTSIDE"

// outside is how AWS's clients reach the double from outside its network.
func outside(ctx context.Context, dir string) (aws.Config, error) {
	env, err := readEnv(dir)
	if err != nil {
		return aws.Config{}, err
	}
	url := ""
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == outsideVariable {
			url = value
		}
	}
	return config.LoadDefaultConfig(ctx, config.WithRegion("us-east-2"), config.WithBaseEndpoint(url), config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(&http.Client{Transport: cloud.Transport()}), config.WithCredentialsProvider(
			aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
			})))
}
