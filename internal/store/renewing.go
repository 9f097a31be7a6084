package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// renewing are credentials that are asked for again when they expire, and also when the place says that they did, or
// does not know them: the SDK's own cache believes the date that came with them, and some have none.
type renewing struct {
	*aws.CredentialsCache
	below interface{ Invalidate() } // the caller's own cache, nil if it has none
	hint  string                    // what renews them, "" if that is not known
}

func newRenewing(c Config) *renewing {
	keys := c.Keys()
	r := &renewing{CredentialsCache: aws.NewCredentialsCache(keys), hint: c.Renewal}
	r.below, _ = keys.(interface{ Invalidate() })
	return r
}

// ErrCredentials is the error of credentials that cannot be read, or that the place does not take any more.
var ErrCredentials = errors.New("the credentials are not valid")

// staleCredentials is an ErrCredentials in the place's own words.
type staleCredentials struct{ error }

func (staleCredentials) Is(target error) bool { return target == ErrCredentials }
func (s staleCredentials) Unwrap() error      { return s.error }

// environment is the SDK's name for credentials of the process's own environment, which nothing can renew from outside.
const environment = "EnvConfigCredentials"

// stale reports whether other credentials might help. The answer to HEAD has no body, and so no code.
func (r *renewing) stale(err error) bool {
	if staleCode(code(err)) {
		return true
	}
	req := request(err)
	return req != nil && req.Method == http.MethodHead && status(err) == http.StatusBadRequest && req.Header.Get(tokenHeader) != ""
}

func staleCode(code string) bool {
	switch code {
	case "ExpiredToken", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId":
		return true
	}
	return false
}

const tokenHeader = "X-Amz-Security-Token"

// renew asks for credentials again if those of the failed request are still the newest, and the place does not take them. Where they may
// have expired, the same are tried again, as they may be renewed meanwhile, unless they are those of the environment. Else it returns an
// error if there are no others.
func (r *renewing) renew(ctx context.Context, err error) error {
	req := request(err)
	if !r.stale(err) || req == nil {
		return nil
	}
	now, readErr := r.Retrieve(ctx)
	if readErr == nil && signed(req, now) {
		r.forget()
		now, readErr = r.Retrieve(ctx)
	}
	mayCome := passing[code(err)] && now.Source != environment
	if !mayCome && readErr == nil && signed(req, now) {
		return errSameCredentials
	}
	return nil // who cannot read them finds that out by the next attempt
}

func (r *renewing) forget() {
	r.Invalidate()
	if r.below != nil {
		r.below.Invalidate()
	}
}

// Retrieve implements aws.CredentialsProvider.
func (r *renewing) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := r.CredentialsCache.Retrieve(ctx)
	if err != nil {
		return c, unreadable{cmp.Or(errors.Unwrap(err), err)}
	}
	return c, nil
}

// unreadable is the error of credentials that could not be read.
type unreadable struct{ cause error }

func (u unreadable) Error() string { return fmt.Sprintf("read credentials: %v", u.cause) }
func (u unreadable) Unwrap() error { return u.cause }

// Is implements the interface of package errors.
func (unreadable) Is(target error) bool { return target == ErrCredentials }

var errSameCredentials = errors.New("there are no other credentials")

func signed(req *http.Request, c aws.Credentials) bool {
	return req.Header.Get(tokenHeader) == c.SessionToken && strings.Contains(req.Header.Get("Authorization"), "Credential="+c.AccessKeyID+"/")
}

// answer is that to a request which failed, one of nothing if there was none.
func answer(err error) *http.Response {
	var failed *smithyhttp.ResponseError
	if errors.As(err, &failed) && failed.Response != nil && failed.Response.Response != nil {
		return failed.Response.Response
	}
	return &http.Response{}
}

// request is the one that was answered, nil if none was.
func request(err error) *http.Request { return answer(err).Request }

// status is that of the answer, 0 if there was none.
func status(err error) int { return answer(err).StatusCode }
