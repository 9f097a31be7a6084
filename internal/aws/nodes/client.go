package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-hpc/muster/internal/aws/nodes/ec2xml"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// clients are how we speak to AWS. Their retryers are the one place where calls
// are made again. Looks and ends are repeated by their callers, so that
// theirs only mend what happens every day, such as a connection that was closed
// while it was idle.
type clients struct {
	ec2    *ec2.Client
	dns    *route53.Client
	limits Limits
	// gate is shut for calls that start instances while one of them is throttled.
	gate *gate
}

func newClients(c aws.Config, l Limits) clients {
	few := l
	few.Attempts = min(few.Attempts, 3)
	c.APIOptions = append(slices.Clone(c.APIOptions), impatience(l.Answer).option)
	return clients{
		ec2:    ec2.NewFromConfig(c, func(o *ec2.Options) { o.Retryer = retryer(few, nil) }),
		dns:    route53.NewFromConfig(c, func(o *route53.Options) { o.Retryer = retryer(l, nil) }),
		limits: l, gate: &gate{},
	}
}

// refill is how long EC2 takes to let an account start one more instance:
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
const refill = time.Second / 2

// paced lets a call that starts instances wait no longer than EC2 takes to refill
// its bucket for as many.
func (c *clients) paced(instances int32) func(*ec2.Options) {
	l := c.limits
	l.PauseMost = min(l.PauseMost, l.Pause+time.Duration(instances)*refill)
	return func(o *ec2.Options) { o.Retryer = retryer(l, c.gate) }
}

// retryer makes calls again that were throttled or lost, after growing pauses. A
// gate is shut meanwhile.
func retryer(l Limits, g *gate) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = l.Attempts
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{
			retry.NoRetryCanceledError{}, retry.IsErrorRetryableFunc(again),
			retry.RetryableError{}, retry.RetryableConnectionError{},
		}
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
			d := l.pause(attempt)
			if g != nil && throttled(err) {
				g.shut(d)
			}
			return d, nil
		})
	})
}

// pause is how long to wait after an attempt, the first being 1. Two that wait do
// not wait equally long.
func (l Limits) pause(attempt int) time.Duration {
	d := l.PauseMost
	if attempt < 20 {
		d = min(d, l.Pause<<(attempt-1))
	}
	return d/2 + rand.N(d/2+1)
}

// gate holds back calls after one of them was throttled: EC2 counts calls, and each
// that comes too early makes the wait longer.
type gate struct {
	mu    sync.Mutex // guards until
	until time.Time
}

func (g *gate) shut(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := time.Now().Add(d); t.After(g.until) {
		g.until = t
	}
}

func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	d := time.Until(g.until)
	g.mu.Unlock()
	return pause.For(ctx, d)
}

// lean lets ec2xml read the answer of one call in place of the SDK, which needs
// seconds for a thousand instances with many interfaces. Errors are still the SDK's.
type lean struct {
	read func(io.Reader) (ec2xml.Page, error)
	// result is what the SDK's caller expects and does not look at.
	result any
	page   ec2xml.Page
	errors middleware.DeserializeMiddleware
}

// ID is the name under which the SDK's reader is replaced.
func (*lean) ID() string { return "OperationDeserializer" }

// option makes a call a lean one.
func (l *lean) option(o *ec2.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) (err error) {
		l.errors, err = s.Deserialize.Swap(l.ID(), l)
		return err
	})
}

// HandleDeserialize implements middleware.DeserializeMiddleware.
func (l *lean) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok || response.StatusCode/100 != 2 {
		return l.errors.HandleDeserialize(ctx, in, answered{out, metadata, err})
	}
	page, err := l.read(response.Body)
	// What was read is whole, or an error already.
	err = errors.Join(err, response.Body.Close())
	if err != nil {
		return out, metadata, &lostAnswer{&smithy.DeserializationError{Err: err}}
	}
	l.page, out.Result = page, l.result
	return out, metadata, nil
}

// answered is a handler that has its answer.
type answered struct {
	out      middleware.DeserializeOutput
	metadata middleware.Metadata
	err      error
}

// HandleDeserialize implements middleware.DeserializeHandler.
func (a answered) HandleDeserialize(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
	return a.out, a.metadata, a.err
}

// lostAnswer is an answer that came and could not be read.
type lostAnswer struct{ error }

// RetryableError tells the SDK's retryer to ask again.
func (*lostAnswer) RetryableError() bool { return true }

func (e *lostAnswer) Unwrap() error { return e.error }

// impatience is how long one attempt of a call may take. The SDK waits for ever.
type impatience time.Duration

// ID names the step.
func (impatience) ID() string { return "muster:Impatience" }

func (i impatience) option(s *middleware.Stack) error {
	return s.Finalize.Insert(i, "Retry", middleware.After)
}

// HandleFinalize implements middleware.FinalizeMiddleware.
func (i impatience) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(i))
	defer cancel()
	out, metadata, err := next.HandleFinalize(limited, in)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = &lostAnswer{fmt.Errorf("no answer within %s", time.Duration(i))}
	}
	return out, metadata, err
}
