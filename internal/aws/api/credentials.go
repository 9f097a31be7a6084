package api

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"
)

// CredentialsError says that there are no credentials, or none that AWS takes.
type CredentialsError struct {
	Err error
	// Hint is what to do.
	Hint string
}

// Error is the cause and what to do about it.
func (e *CredentialsError) Error() string { return e.Err.Error() + "; " + e.Hint }

// Unwrap is the cause.
func (e *CredentialsError) Unwrap() error { return e.Err }

// Configured reports whether credentials are set up in this environment. They are not
// tried: they may be wrong.
func Configured() bool {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	files := []string{os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "credentials"), filepath.Join(home, ".aws", "config")}
	return slices.ContainsFunc(files, func(name string) bool {
		_, err := os.Stat(name)
		return name != "" && err == nil
	})
}

// missing is that no credentials could be had.
func missing(err error) error {
	var token *ssocreds.InvalidTokenError
	if errors.As(err, &token) {
		return &CredentialsError{Err: errors.New("the single sign-on session has ended"), Hint: "run `" + login("") + "`"}
	}
	var profile config.SharedConfigProfileNotExistError
	if errors.As(err, &profile) {
		return &CredentialsError{Err: profile, Hint: "set AWS_PROFILE to a profile of ~/.aws/config"}
	}
	if code, ok := refused(err); ok {
		return code
	}
	if away, ok := errors.AsType[*explained](unreached(err)); ok {
		return fmt.Errorf("get AWS credentials: %w", away)
	}
	return &CredentialsError{Err: errors.New("there are no AWS credentials"), Hint: "run `aws configure sso` or `aws configure`, or set AWS_PROFILE"}
}

func login(profile string) string {
	if p := cmp.Or(profile, os.Getenv("AWS_PROFILE")); p != "" {
		return "aws sso login --profile " + p
	}
	return "aws sso login"
}

// words is an error of AWS without the SDK's frame, with what to do where that is
// known.
func words(err error) error {
	if e, ok := refused(err); ok {
		return e
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return &Refusal{Code: api.ErrorCode(), Message: api.ErrorMessage()}
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Refusal is an error that AWS answered.
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// refused is that AWS does not take the credentials.
func refused(err error) (*CredentialsError, bool) {
	if e, ok := errors.AsType[answered](err); ok && e.credentials != nil {
		return e.credentials, true
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return nil, false
	}
	switch api.ErrorCode() {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired":
		return &CredentialsError{Err: errors.New("the AWS credentials have expired"), Hint: "run `" + login("") + "`, or export new ones"}, true
	case "InvalidClientTokenId", "UnrecognizedClientException", "InvalidAccessKeyId", "AuthFailure":
		if api.ErrorCode() == "AuthFailure" && !strings.Contains(api.ErrorMessage(), "credentials") {
			return nil, false // of an image, for example
		}
		return &CredentialsError{Err: errors.New("AWS does not know this access key"), Hint: "run `aws configure`, or set AWS_PROFILE to another profile"}, true
	case "SignatureDoesNotMatch", "InvalidSignatureException":
		return &CredentialsError{Err: errors.New("the secret key does not belong to the access key, or this machine's clock is wrong"), Hint: "run `aws configure`, and look at the clock"}, true
	}
	return nil, false
}

// code is AWS's word for an error, empty where AWS did not answer.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Code
	}
	return ""
}
