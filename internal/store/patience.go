package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

const (
	usualAttempts = 4
	firstWait     = 200 * time.Millisecond
	mostWait      = 10 * time.Second // a place that comes back is found within it
	strangeLimit  = 5 * time.Second  // of a place that never answered: it may be that there is none
)

// patience says how often and how long a request is made again. Without a limit of time it is the SDK's own; with one,
// a request goes on until it worked, or until it failed for that long and as often as it is made at the least.
type patience struct {
	*retry.Standard
	attempts    int
	limit       time.Duration
	first, most time.Duration // waits: each is twice the one before
	strange     time.Duration // in place of limit until the place is known
	bell        func(err error, wait time.Duration)
	credentials *renewing
	known       atomic.Bool // the place: it has answered before
}

var _ aws.RetryerV2 = (*patience)(nil)

func newPatience(c Config, credentials *renewing) *patience {
	p := &patience{attempts: c.Attempts, limit: c.Patience, first: firstWait, most: mostWait, strange: strangeLimit, bell: c.Bell, credentials: credentials}
	p.known.Store(c.Known)
	if p.attempts == 0 {
		p.attempts = usualAttempts
	}
	p.Standard = retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = p.attempts
		o.MaxBackoff = 2 * time.Second
		if p.limit > 0 {
			o.RateLimiter = ratelimit.None // which would end everything after a hundred retries
		}
	})
	return p
}

// MaxAttempts implements aws.Retryer. 0 is no limit.
func (p *patience) MaxAttempts() int {
	if p.limit > 0 {
		return 0
	}
	return p.Standard.MaxAttempts()
}

// passing are codes of what passes, beside those that the SDK knows.
var passing = map[string]bool{
	"ExpiredToken":         true,
	"IncompleteBody":       true,
	"OperationAborted":     true,
	"TokenRefreshRequired": true,
}

// IsErrorRetryable implements aws.Retryer.
func (p *patience) IsErrorRetryable(err error) bool {
	if p.credentials.stale(err) || skewed(err) || passing[code(err)] {
		return true
	}
	if status(err) == http.StatusTooManyRequests {
		return true
	}
	if _, garbled := errors.AsType[*smithy.DeserializationError](err); garbled {
		return true // the answer was cut off or damaged
	}
	if _, blind := errors.AsType[unreadable](err); blind && p.limit > 0 {
		return true // somebody may renew them
	}
	if _, nameless := errors.AsType[*net.DNSError](err); nameless && p.limit > 0 && p.known.Load() {
		return true // a machine without a network says that there is no such name
	}
	if unsaid(err) {
		return false
	}
	if !p.known.Load() && (withoutTLS(err) || distrusted(err)) {
		return false
	}
	return p.Standard.IsErrorRetryable(err)
}

// unsaid reports whether a request went nowhere, because it has what no request can have, such as the end of a line in a
// header. The transport has no type for it.
func unsaid(err error) bool {
	var request *url.Error
	if !errors.As(err, &request) {
		return false
	}
	for _, says := range []string{"net/http: invalid header", "net/http: invalid method", "net/http: invalid trailer"} {
		if strings.HasPrefix(request.Err.Error(), says) {
			return true
		}
	}
	return false
}

// GetRetryToken implements aws.Retryer: its error ends the attempts.
func (p *patience) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	if renewErr := p.credentials.renew(ctx, err); renewErr != nil {
		return nil, renewErr
	}
	if p.limit == 0 {
		return p.Standard.GetRetryToken(ctx, err)
	}
	f, ok := ctx.Value(failuresKey{}).(*failures)
	if !ok {
		return nil, errors.New("a request without a count of its failures")
	}
	if gaveUp := p.endures(f, err); gaveUp != nil {
		return nil, gaveUp
	}
	return func(error) error { return nil }, nil
}

// RetryDelay implements aws.Retryer.
func (p *patience) RetryDelay(attempt int, err error) (time.Duration, error) {
	if p.limit == 0 {
		return p.Standard.RetryDelay(attempt, err)
	}
	wait := p.wait(attempt)
	p.ring(err, wait)
	return wait, nil
}

// wait is how long to wait after so many failures: with a random part, so that many do not come back at once.
func (p *patience) wait(failures int) time.Duration {
	wait := p.first
	for n := 1; n < failures && wait < p.most; n++ {
		wait *= 2
	}
	wait = min(wait, p.most)
	return wait/2 + rand.N(wait/2+1)
}

func (p *patience) ring(err error, wait time.Duration) {
	if p.bell != nil {
		p.bell(reason(err), wait)
	}
}

// failures are those in a row of one request.
type failures struct {
	count int
	since time.Time
}

type failuresKey struct{}

// endures counts a failure, and says whether it was one too many.
func (p *patience) endures(f *failures, err error) error {
	if f.count++; f.count == 1 {
		f.since = time.Now()
	}
	lasted := time.Since(f.since)
	if f.count >= p.attempts && lasted >= p.limit || !p.known.Load() && lasted >= p.strange {
		return &gaveUp{err, f.count, lasted}
	}
	return nil
}

// gaveUp is the error of what failed for too long.
type gaveUp struct {
	cause error
	times int
	after time.Duration
}

func (g *gaveUp) Error() string {
	return fmt.Sprintf("%v, %d times within %s", g.cause, g.times, g.after.Round(time.Second))
}

// Is reports whether it failed for want of credentials. The other causes end more than their object after so long.
func (g *gaveUp) Is(target error) bool {
	return target == ErrCredentials && errors.Is(g.cause, target)
}

// options of all requests.
func (p *patience) options() []func(*middleware.Stack) error {
	if p.limit == 0 {
		return nil
	}
	return []func(*middleware.Stack) error{counted}
}

// counted gives each request its count of failures.
func counted(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("muster:failures", func(ctx context.Context, in middleware.InitializeInput,
		next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(context.WithValue(ctx, failuresKey{}, new(failures)), in)
	}), middleware.Before)
}

// again makes a request again, too, whose body came to the place as other bytes, or met another request for its key, and counts how often.
type again struct {
	aws.RetryerV2
	body  bool // it is the same each time it is sent
	count int
}

// again is the option of a request with a body.
func (s *S3) again(a *again) func(*s3.Options) {
	a.RetryerV2 = s.patience
	return func(o *s3.Options) { o.Retryer = a }
}

// conflict is that of a conditional request with another one for its key. S3's reference has PutObject tried again after it; parts that
// met it can be joined no more.
const conflict = "ConditionalRequestConflict"

func (a *again) IsErrorRetryable(err error) bool {
	if a.body && (damaged(code(err)) || code(err) == conflict) {
		return true
	}
	return a.RetryerV2.IsErrorRetryable(err)
}

func (a *again) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	a.count++
	return a.RetryerV2.GetRetryToken(ctx, err)
}

// code is what the place calls an error, "" if it is none of its errors.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}
