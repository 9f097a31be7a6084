package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// inWords has all clients of a configuration say in words why a call failed. Codes and
// causes stay below the words.
func inWords(region *string) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("musterWords",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, about, err := next.HandleInitialize(ctx, in)
				if err != nil && ctx.Err() == nil {
					c := call{region: *region, service: middleware.GetServiceID(ctx), operation: middleware.GetOperationName(ctx)}
					err = c.explain(err)
				}
				return out, about, err
			}), middleware.Before)
	}
}

// call is a call that failed.
type call struct{ region, service, operation string }

// explained is an error of the SDK in words.
type explained struct {
	text, code string
	fault      smithy.ErrorFault
	err        error
	// credentials is there where they are the reason.
	credentials *CredentialsError
}

func (e *explained) Error() string {
	if e.code != "" && e.credentials == nil {
		return e.code + ": " + e.text
	}
	return e.text
}

func (e *explained) Unwrap() []error {
	if e.credentials != nil {
		return []error{e.err, e.credentials}
	}
	return []error{e.err}
}

// answered is an error that AWS answered, in words: still one of the SDK's.
type answered struct{ *explained }

var _ smithy.APIError = answered{}

func (a answered) ErrorCode() string             { return a.code }
func (a answered) ErrorMessage() string          { return a.text }
func (a answered) ErrorFault() smithy.ErrorFault { return a.fault }

// explain puts a known error into words; others stay as they are.
func (c call) explain(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		var token *ssocreds.InvalidTokenError
		if errors.As(err, &token) {
			return missing(err)
		}
		return unreached(err)
	}
	e := &explained{code: api.ErrorCode(), fault: api.ErrorFault(), err: err}
	attempts, last := errors.AsType[*retry.MaxAttemptsError](err)
	switch bad, ok := refused(err); {
	case ok:
		e.credentials = c.elsewhere(bad)
		e.text = e.credentials.Error()
	case denied(err):
		e.text = c.mayNot(api.ErrorMessage())
	case api.ErrorCode() == "OptInRequired":
		e.text = fmt.Sprintf("%s is not open to this account: %s; region %s is enabled with `aws account enable-region --region-name %s`", c.service, strings.TrimSuffix(api.ErrorMessage(), "."), c.region, c.region)
	case last && slices.Contains(throttles, api.ErrorCode()):
		e.text = fmt.Sprintf("AWS has turned %s of %s away %d times because this account calls it too often; run this again when less else uses the account", c.operation, c.service, attempts.Attempt)
	default:
		return err
	}
	return answered{e}
}

// throttles are AWS's words for too many calls.
var throttles = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException", "RequestLimitExceeded",
	"TooManyRequestsException", "SlowDown", "PriorRequestNotComplete", "BandwidthLimitExceeded", "LimitExceededException",
}

// unreached is an error of the way to AWS.
func unreached(err error) error {
	request, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	host, why := request.URL, request.Err.Error()
	if u, e := url.Parse(request.URL); e == nil {
		host = u.Host
	}
	if strings.HasPrefix(host, "169.254.") || strings.HasPrefix(host, "[fd00:ec2:") {
		return err // machines of AWS ask there for their own credentials: this is none
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		why = dns.Err
	} else if op, ok := errors.AsType[*net.OpError](err); ok {
		why = op.Err.Error()
		if op.Op == "proxyconnect" {
			why = "the proxy does not answer: " + why
		}
	}
	why = strings.TrimPrefix(why, "connect: ")
	return &explained{text: fmt.Sprintf("cannot reach AWS (%s): %s; are you online, or behind a proxy (HTTPS_PROXY)? is the region's name right?", host, why), err: err}
}

// refusalWords are AWS's for a caller without the right to do something.
var refusalWords = pattern.New(`(?:User: )?(\S+) is not authorized to perform: (\S+)(?: on resource: (\S+))?(?: because (.*?))?(?:\. Encoded.*)?$`)

// mayNot names the caller, the action that is denied, and the place where that can be changed.
func (c call) mayNot(message string) string {
	help := "somebody who manages the account has to allow it; `muster check --online FILE` lists what else is missing"
	if c.operation == "GetSecretValue" {
		help = "somebody who manages the account has to allow it, and kms:Decrypt where the secret has a key of its own"
	}
	m := refusalWords().FindStringSubmatch(strings.TrimSpace(message))
	if m == nil {
		return fmt.Sprintf("these credentials may not do %s of %s (%s): %s", c.operation, c.service, strings.TrimSuffix(message, "."), help)
	}
	text := m[1] + " may not do " + strings.TrimSuffix(m[2], ".")
	if resource := strings.TrimSuffix(m[3], "."); resource != "" && resource != "*" {
		text += " on " + resource
	}
	if m[4] != "" {
		text += " (" + strings.TrimSuffix(m[4], ".") + ")"
	}
	return text + ": " + help
}

// always are the regions that every account has. In the others keys are unknown until
// the region is enabled: https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html (2026).
var always = []string{
	"us-east-1", "us-east-2", "us-west-1", "us-west-2", "ap-south-1", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-southeast-1",
	"ap-southeast-2", "ca-central-1", "eu-central-1", "eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1", "sa-east-1",
}

// elsewhere adds that keys are unknown in regions that are not enabled.
func (c call) elsewhere(e *CredentialsError) *CredentialsError {
	if !strings.Contains(e.Err.Error(), "does not know") || c.region == "" || slices.Contains(always, c.region) ||
		strings.HasPrefix(c.region, "cn-") || strings.HasPrefix(c.region, "us-gov-") {
		return e
	}
	return &CredentialsError{
		Err:  fmt.Errorf("AWS does not know this access key in %s", c.region),
		Hint: fmt.Sprintf("if the region is not enabled in the account yet, run `aws account enable-region --region-name %s`; else `aws configure`, or set AWS_PROFILE to another profile", c.region),
	}
}
