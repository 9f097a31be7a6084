package api

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

func TestExplain(t *testing.T) {
	answer := func(code, message string) error { return &smithy.GenericAPIError{Code: code, Message: message} }
	for _, row := range []struct {
		name, region string
		err          error
		want         string
	}{
		{"offline", "us-east-2",
			&url.Error{Op: "Post", URL: "https://sts.us-east-2.amazonaws.com/", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "sts.us-east-2.amazonaws.com", IsNotFound: true}}},
			"cannot reach AWS (sts.us-east-2.amazonaws.com): no such host; are you online, or behind a proxy (HTTPS_PROXY)? is the region's name right?"},
		{"refused", "us-east-2",
			&url.Error{Op: "Post", URL: "https://x:1/", Err: &net.OpError{Op: "dial", Err: errors.New("connect: connection refused")}},
			"cannot reach AWS (x:1): connection refused; are you online, or behind a proxy (HTTPS_PROXY)? is the region's name right?"},
		{"no_credentials_of_a_machine", "us-east-2", &url.Error{Op: "Put", URL: "http://169.254.169.254/latest/api/token", Err: errors.New("no route")},
			`frame: Put "http://169.254.169.254/latest/api/token": no route`},
		{"no_right", "us-east-2",
			answer("UnauthorizedOperation", "You are not authorized to perform this operation. User: arn:aws:iam::1:user/x is not authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:r:1:instance/* because no identity-based policy allows the ec2:RunInstances action. Encoded authorization failure message: AAAA"),
			"UnauthorizedOperation: arn:aws:iam::1:user/x may not do ec2:RunInstances on arn:aws:ec2:r:1:instance/* (no identity-based policy allows the ec2:RunInstances action): somebody who manages the account has to allow it; `muster check --online FILE` lists what else is missing"},
		{"no_right_short", "us-east-2", answer("AccessDenied", "User: arn:aws:iam::1:user/x is not authorized to perform: iam:GetRole"),
			"AccessDenied: arn:aws:iam::1:user/x may not do iam:GetRole: somebody who manages the account has to allow it; `muster check --online FILE` lists what else is missing"},
		{"no_right_of_S3", "us-east-2", answer("AccessDenied", "Access Denied"),
			"AccessDenied: these credentials may not do Op of S3 (Access Denied): somebody who manages the account has to allow it; `muster check --online FILE` lists what else is missing"},
		{"expired", "us-east-2", answer("ExpiredToken", "x"), "the AWS credentials have expired; run `aws sso login`, or export new ones"},
		{"closed_region", "ap-east-1", answer("InvalidClientTokenId", "x"),
			"AWS does not know this access key in ap-east-1; if the region is not enabled in the account yet, run `aws account enable-region --region-name ap-east-1`; else `aws configure`, or set AWS_PROFILE to another profile"},
		{"open_region", "us-west-1", answer("InvalidClientTokenId", "x"), "AWS does not know this access key; run `aws configure`, or set AWS_PROFILE to another profile"},
		{"of_an_image", "us-east-2", answer("AuthFailure", "Not authorized for images: [ami-1]"), "AuthFailure: Not authorized for images: [ami-1]"},
		{"throttled_once", "us-east-2", answer("Throttling", "Rate exceeded"), "Throttling: Rate exceeded"},
		{"throttled_for_long", "us-east-2", &retry.MaxAttemptsError{Attempt: 8, Err: answer("Throttling", "Rate exceeded")},
			"Throttling: AWS has turned Op of S3 away 8 times because this account calls it too often; run this again when less else uses the account"},
		{"not_subscribed", "me-south-1", answer("OptInRequired", "You are not subscribed to this service."),
			"OptInRequired: S3 is not open to this account: You are not subscribed to this service; region me-south-1 is enabled with `aws account enable-region --region-name me-south-1`"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("AWS_PROFILE", "")
			c := call{region: row.region, service: "S3", operation: "Op"}
			explained := c.explain(fmt.Errorf("frame: %w", row.err))
			got := words(&smithy.OperationError{ServiceID: "S3", OperationName: "Op", Err: explained}).Error()
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if strings.Contains(row.want, "credentials have") != (errors.As(explained, new(*CredentialsError))) && !strings.Contains(row.want, "access key") {
				t.Error("whether it is a matter of credentials")
			}
			var api smithy.APIError
			if errors.As(row.err, &api) && !errors.As(explained, &api) {
				t.Error("AWS's own error is gone")
			}
		})
	}
}

// TestNoNetwork asks where nobody is: the words come from the SDK's stack.
func TestNoNetwork(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	a, err := Open(t.Context(), "us-east-2")
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Identity(t.Context())
	want := "ask AWS who we are: cannot reach AWS (127.0.0.1:1): connection refused; are you online, or behind a proxy (HTTPS_PROXY)? is the region's name right?"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
