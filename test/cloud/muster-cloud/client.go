package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/test/cloud"
)

// outsideVariable is where the double can be reached from outside its network.
const outsideVariable = "MUSTER_CLOUD_OUTSIDE"

// outside is how AWS's clients reach the double from outside its network.
func outside(dir string) (aws.Config, error) {
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
	// Not the SDK's default configuration: the user's environment is none of ours.
	return aws.Config{
		Region: "us-east-2", BaseEndpoint: aws.String(url), HTTPClient: &http.Client{Transport: cloud.Transport()},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}, nil
}
