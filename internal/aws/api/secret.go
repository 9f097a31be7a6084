package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// RegionOf is the region that an ARN names, empty for anything else.
func RegionOf(id string) string {
	parsed, err := arn.Parse(id)
	if err != nil {
		return ""
	}
	return parsed.Region
}

// Secret is the text of a secret of Secrets Manager, by its name or ARN. Errors have nothing of it.
func (a *Account) Secret(ctx context.Context, id string) (string, error) {
	soon := func(o *secretsmanager.Options) { o.RetryMaxAttempts = 3 }
	out, err := secretsmanager.NewFromConfig(a.config).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &id}, soon)
	switch {
	case code(err) == "ResourceNotFoundException" && strings.Contains(err.Error(), "staging label"):
		return "", fmt.Errorf("secret %s in %s has no value yet", id, a.Region)
	case code(err) == "ResourceNotFoundException":
		return "", fmt.Errorf("there is no secret %s in %s; `aws secretsmanager list-secrets --region %s` lists them", id, a.Region, a.Region)
	case err != nil:
		return "", failed(err, "read secret %s in %s", id, a.Region)
	case out.SecretString == nil:
		return "", fmt.Errorf("secret %s in %s is binary, and a variable takes text", id, a.Region)
	}
	return aws.ToString(out.SecretString), nil
}
