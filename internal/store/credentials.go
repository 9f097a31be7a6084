package store

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// sharedFile reads the default profile of an AWS shared-credentials file, each time the SDK asks.
// The SDK's own loader takes a file that it cannot read for an empty one.
type sharedFile string

var _ aws.CredentialsProvider = sharedFile("")

func (path sharedFile) Retrieve(context.Context) (aws.Credentials, error) {
	c := aws.Credentials{Source: string(path)}
	f, err := os.Open(string(path))
	if err != nil {
		return c, err
	}
	defer f.Close()
	profile := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			profile = strings.TrimSpace(strings.Trim(line, "[]"))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if profile != "default" || !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "aws_access_key_id":
			c.AccessKeyID = value
		case "aws_secret_access_key":
			c.SecretAccessKey = value
		case "aws_session_token":
			c.SessionToken = value
		}
	}
	if err := lines.Err(); err != nil {
		return c, err
	}
	if !c.HasKeys() {
		return c, errors.New("no access key and secret key in [default] of " + string(path))
	}
	return c, nil
}
