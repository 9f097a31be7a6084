package cloud

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// Kind is what goes wrong with a call.
type Kind string

// Kinds of faults. All but LostAnswer and Delay hit before the call does anything.
const (
	// Throttled is refused for being asked too often, with the code that the service has for it.
	Throttled Kind = "throttled"
	// Internal is an InternalError or its like with status 500, Unavailable the same with 503.
	Internal    Kind = "internal"
	Unavailable Kind = "unavailable"
	// Expired says that the credentials are too old.
	Expired Kind = "expired"
	// Denied says that there is no right to the call.
	Denied Kind = "denied"
	// Refused has the rule's own Code, Message and Status.
	Refused Kind = "refused"
	// LostCall cuts the connection before, LostAnswer after the call was carried out.
	LostCall   Kind = "lost call"
	LostAnswer Kind = "lost answer"
	// Delayed answers after the rule's Delay. Every kind may have a Delay, too.
	Delayed Kind = "delayed"
)

// Rule says which calls go wrong.
type Rule struct {
	// Service is a signing name, Operation a call's name; empty stands for all.
	Service, Operation string
	// When looks closer at a call. It may be nil.
	When func(*wire.Call) bool
	Kind Kind
	// Inner lets calls that services of the double make go wrong, instead of those of
	// others.
	Inner bool
	// Skip lets the first calls pass. Times is how many go wrong then; zero is all.
	Skip, Times int
	// Chance lets only some calls go wrong, by Seed. Zero is all.
	Chance float64
	Seed   uint64
	// Delay is waited for, of real time, before the call is carried out.
	Delay time.Duration
	// Code, Message and Status are those of Refused, and may be given for other kinds.
	Code, Message string
	Status        int
	// Then is called after a call that went wrong was carried out, or refused.
	Then func(*wire.Call)
}

// fault is a rule in force.
type fault struct {
	rule Rule
	dice *rand.Rand
	seen int
	hits int
	what Record
}

// Fail puts a rule in force, until lift is called. Of several rules the first that
// fits a call is used.
func (c *Cloud) Fail(r Rule) (lift func()) {
	f := &fault{rule: r, dice: rand.New(rand.NewPCG(r.Seed, 1))}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, x := range c.faults {
			if x == f {
				c.faults = append(c.faults[:i:i], c.faults[i+1:]...)
				return
			}
		}
	}
}

// Cut lets the n-th call from now on, counted from 1, lose its answer after it was
// carried out. hit tells which call it was; it is false if there were not so many.
func (c *Cloud) Cut(n int) (hit func() (Record, bool)) {
	return c.nth(n, LostAnswer, nil)
}

// After calls then once the n-th call from now on, counted from 1, was carried out
// and before its answer goes out.
func (c *Cloud) After(n int, then func(*wire.Call)) (hit func() (Record, bool)) {
	return c.nth(n, Delayed, then)
}

func (c *Cloud) nth(n int, kind Kind, then func(*wire.Call)) func() (Record, bool) {
	f := &fault{rule: Rule{Kind: kind, Skip: n - 1, Times: 1, Then: then}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
	return func() (Record, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return f.what, f.hits > 0
	}
}

// fault is what goes wrong with a call; nil if nothing does.
func (c *Cloud) fault(call *wire.Call) *fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	var hit *fault
	for _, f := range c.faults {
		if f.fits(call) && hit == nil {
			hit = f
		}
	}
	return hit
}

// fits counts a call and tells whether it goes wrong.
func (f *fault) fits(call *wire.Call) bool {
	r := &f.rule
	if r.Inner != (call.Key == innerKey) || r.Service != "" && r.Service != call.Service || r.Operation != "" && r.Operation != call.Operation() || r.When != nil && !r.When(call) {
		return false
	}
	f.seen++
	if f.seen <= r.Skip || r.Times > 0 && f.hits >= r.Times || r.Chance > 0 && f.dice.Float64() >= r.Chance {
		return false
	}
	f.hits++
	f.what = Record{Service: call.Service, Operation: call.Operation()}
	return true
}

func (f *fault) waits(ctx context.Context) error {
	if f == nil || f.rule.Delay == 0 {
		return nil
	}
	timer := time.NewTimer(f.rule.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fault) loses() bool { return f != nil && f.rule.Kind == LostAnswer }

func (f *fault) refuses() bool {
	return f != nil && f.rule.Kind != LostAnswer && f.rule.Kind != Delayed
}

func (f *fault) then(call *wire.Call) {
	if f != nil && f.rule.Then != nil {
		f.rule.Then(call)
	}
}

func (f *fault) answer(call *wire.Call) *wire.Answer {
	e := standard(f.rule.Kind, call)
	e.Code, e.Message = cmp.Or(f.rule.Code, e.Code), cmp.Or(f.rule.Message, e.Message)
	e.Status = cmp.Or(f.rule.Status, e.Status)
	return call.Fault(e)
}

// standard is the error that a service has for a kind of fault. EC2's are on
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html, the
// others' among the common errors of each service's reference, such as
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonErrors.html
// and https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
func standard(kind Kind, call *wire.Call) *wire.Error {
	e := errorsOf[kind][family(call)]
	switch kind {
	case Unavailable:
		e = wire.Error{Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable", Message: "The request has failed due to a temporary failure of the server."}
	case Denied:
		e.Message += "User: arn:aws:sts::" + Account + ":assumed-role/test/test is not authorized to perform: " + call.Service + ":" + call.Operation()
	case Refused:
		e = wire.Error{Status: http.StatusBadRequest, Code: "ValidationError", Message: "refused by a rule of the test"}
	}
	return &e
}

// family says whose words for errors a service has.
func family(call *wire.Call) string {
	switch {
	case call.Protocol == wire.EC2:
		return "ec2"
	case call.Service == "s3":
		return "s3"
	case call.Form != nil || call.Protocol == wire.RestXML:
		return "xml"
	}
	return "json"
}

var errorsOf = map[Kind]map[string]wire.Error{
	Throttled: {
		"ec2":  {Status: 503, Code: "RequestLimitExceeded", Message: "Request limit exceeded."},
		"s3":   {Status: 503, Code: "SlowDown", Message: "Please reduce your request rate."},
		"xml":  {Status: 400, Code: "Throttling", Message: "Rate exceeded"},
		"json": {Status: 400, Code: "ThrottlingException", Message: "Rate exceeded"},
	},
	Internal: {
		"ec2":  {Status: 500, Code: "InternalError", Message: "An internal error has occurred"},
		"s3":   {Status: 500, Code: "InternalError", Message: "An internal error has occurred"},
		"xml":  {Status: 500, Code: "InternalFailure", Message: "An internal error has occurred"},
		"json": {Status: 500, Code: "InternalFailure", Message: "An internal error has occurred"},
	},
	Expired: {
		"ec2":  {Status: 400, Code: "RequestExpired", Message: "Request has expired."},
		"s3":   {Status: 400, Code: "ExpiredToken", Message: "The provided token has expired."},
		"xml":  {Status: 403, Code: "ExpiredToken", Message: "The security token included in the request is expired"},
		"json": {Status: 400, Code: "ExpiredTokenException", Message: "The security token included in the request is expired"},
	},
	Denied: {
		"ec2":  {Status: 403, Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation. "},
		"s3":   {Status: 403, Code: "AccessDenied"},
		"xml":  {Status: 403, Code: "AccessDenied"},
		"json": {Status: 400, Code: "AccessDeniedException"},
	},
}
